/** Exit statuses (DESIGN section 7). A new failure code does not compile until it has a row here. */
import type { FailureCode } from '../base/failure.ts';

export const exitStatus: Readonly<Record<FailureCode, number>> = {
  // The person typing.
  USAGE: 2, SERVER_UNKNOWN: 2, TOOL_UNKNOWN: 2, ARGUMENTS_INVALID: 2,
  // The config's owner.
  CONFIG_UNREADABLE: 3, CONFIG_INVALID: 3, TRUST_REFUSED: 3, VARIABLE_UNSET: 3, URL_REFUSED: 3,
  // The server's operator or the network.
  SPAWN_FAILED: 4, SERVER_EXITED: 4, CONNECT_FAILED: 4, HTTP_STATUS: 4, CONNECTION_CLOSED: 4, SESSION_LOST: 4, TIMEOUT: 4,
  // The server's author.
  PROTOCOL_VIOLATION: 5, LIMIT_EXCEEDED: 5, REVISION_UNSUPPORTED: 5, CAPABILITY_MISSING: 5, REMOTE_ERROR: 5,
  // The account's owner.
  LOGIN_REQUIRED: 6, LOGIN_REFUSED: 6, ISSUER_UNTRUSTED: 6, TOKEN_REFUSED: 6,
  // The policy's owner.
  PERMISSION_DENIED: 7,
  // Someone who can look at the outside world.
  OUTCOME_UNKNOWN: 8,
  INTERNAL: 70,
  CANCELED: 130,
};

/** It worked. */
export const EXIT_OK = 0;
/** The tool reported an error (`isError`). */
export const EXIT_TOOL_ERROR = 1;

/** The result could not be written (disk full). */
export const EXIT_UNWRITTEN = 4;

/** 128 + the number of the signal, as shells count. */
export const signalStatus = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
export type EndingSignal = keyof typeof signalStatus;

/** The table of statuses as `--help` shows it. */
export const exitRows: readonly (readonly [string, string])[] = [
  ['0', 'it worked'],
  ['1', 'the tool itself reported an error'],
  ['2', 'wrong usage: unknown command, option, server or tool, invalid arguments'],
  ['3', 'the configuration is at fault: file, trust, variable, URL'],
  ['4', 'the server or the network: not started, exited, not reached, timed out'],
  ['5', 'the server broke the protocol or answered with an error'],
  ['6', 'signing in is needed or was refused'],
  ['7', 'the permission policy refused, or nobody was there to ask'],
  ['8', 'the outcome is unknown: look before repeating'],
  ['70', 'a defect of this program'],
  ['130', 'canceled (Ctrl-C); 143 and 129 for SIGTERM and SIGHUP'],
];
