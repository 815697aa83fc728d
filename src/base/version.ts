/** The version of this package; a test holds it equal to `package.json`. A constant, because reading a file would cost every start. */
export const version = '0.1.0';
