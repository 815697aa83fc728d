/** Text with a role: who writes it says how it looks, the terminal alone turns that into escape codes. */

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Span = string | { readonly text: string; readonly style: Style };
export type Line = readonly Span[];

export const bold = (text: string): Span => ({ text, style: 'bold' });
export const dim = (text: string): Span => ({ text, style: 'dim' });
export const red = (text: string): Span => ({ text, style: 'red' });
export const green = (text: string): Span => ({ text, style: 'green' });
export const yellow = (text: string): Span => ({ text, style: 'yellow' });
export const cyan = (text: string): Span => ({ text, style: 'cyan' });
