/** Every bound of the house, in one table. Units are in the names. Each has a test that crosses it. */
const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  /** One JSON-RPC frame on stdio. A longer one cannot be resynchronized: it ends the stream. */
  frameBytes: 64 * MIB,
  /** How much of an undecodable line is shown. */
  excerptBytes: 256,
  /** Undecodable lines in a row, before the first decodable one, that end the connection. */
  noiseLinesBeforeFirst: 32,
  /** Undecodable lines that are logged one by one; after them each multiple of `noiseLogEvery`. */
  noiseLogFirst: 32,
  noiseLogEvery: 1024,
  stderrLineBytes: 8 * KIB,
  stderrTailBytes: 64 * KIB,
  httpBodyBytes: 64 * MIB,
  /** Literal header and variable values of at least that length are masked wherever a server repeats them. */
  literalSecretChars: 16,
  /** So many chunks smaller than that are joined while they wait, so that a drip of bytes costs no object each. */
  smallChunks: 1024,
  smallChunkBytes: 4096,
  httpErrorBodyBytes: 64 * KIB,
  /** Response head. The platform's fetch has a limit of its own (16 KiB). */
  httpHeaderBytes: 64 * KIB,
  /** Same-origin 307/308 answers followed for one request. */
  httpRedirects: 3,
  /** Connections to one origin; more requests wait for one. */
  httpSockets: 256,
  /** How long an unused connection is kept, shorter when the server announces less. */
  httpIdleMs: 45_000,
  /** How long one address of a host may take before the next one is tried. */
  httpAddressMs: 500,
  /** How long a proxy may take to open a tunnel. */
  httpTunnelMs: 30_000,
  /** Bytes a slow reader of a response body may leave waiting before the peer is made to wait. */
  httpReadAheadBytes: 256 * KIB,
  eventBytes: 64 * MIB,
  oauthDocumentBytes: 1 * MIB,
  configFileBytes: 1 * MIB,
  /** A file of another program that servers are imported from: some keep their whole history beside them. */
  importFileBytes: 32 * MIB,
  /** Property lists of managed preferences: nesting, and objects looked at (one may be referred to often). */
  plistDepth: 64,
  plistObjects: 50_000,
  /** Nesting of a TOML file of another program. */
  tomlDepth: 64,
  /** A certificate bundle or a key. */
  pemBytes: 4 * MIB,
  /** The stored roster of wire ids of one workspace. */
  rosterBytes: 16 * MIB,
  /** Pages of one list; a repeated cursor ends it too. */
  listPages: 1000,
  toolsPerServer: 10_000,
  /** Default request timeout of the `timeout` (Zuno) dialect and of the `timeoutMs` dialect. */
  requestMs: 5_000,
  requestMsLong: 30_000,
  /** Absolute ceiling of one request, whatever progress arrives: the larger of these two. */
  ceilingFactor: 10,
  ceilingMs: 300_000,
  /** Connect, negotiate and first discovery together. */
  connectMs: 30_000,
  probeMs: 5_000,
  /** How long a list of all servers waits for the slowest. */
  listPatienceMs: 10_000,
  pingMs: 5_000,
  /** How long a remembered legacy verdict counts. */
  legacyVerdictMs: 24 * 60 * 60 * 1000,
  /** Shutdown ladder of a child: end of stdin, then INT, TERM, KILL, then the check that all is gone. */
  killEofMs: 250,
  killEofOneShotMs: 150,
  killIntMs: 250,
  killTermMs: 750,
  killVerifyMs: 250,
  killPollMs: 25,
  taskkillMs: 2_000,
  /** The watchdog's shell starts so long after the first server, so that it does not compete with the server's own start. */
  watchdogDelayMs: 25,
  /** How long a closing host waits for the wire to take its last words. */
  drainMs: 100,
  /** A cut event stream is taken up again after so long (unless the server says when), growing by the factor up to `retryCapMs`. */
  streamRetryMs: 1_000,
  streamRetryFactor: 1.5,
  /** The least wait before that, whatever the server says: `retry: 0` must not become a busy loop. */
  streamRetryLeastMs: 50,
  /** Attempts in a row that bring nothing before the optional stream is given up. */
  streamRetries: 5,
  /** An optional stream that stood so long has worked, even if it brought nothing. */
  streamStoodMs: 10_000,
  /** Answered streams that a server has not ended yet; the oldest beyond that is cut. */
  lingeringStreams: 16,
  /** Patience with a server that is told that its HTTP session ends. */
  sessionEndMs: 1_000,
  /** One metadata document; registration, token and device requests; each revocation of a sign-out; all of discovery. */
  oauthMetadataMs: 10_000,
  oauthRequestMs: 30_000,
  oauthRevocationMs: 5_000,
  oauthDiscoveryMs: 30_000,
  /** Authorization servers looked at, scopes kept of one list, and the bytes of them. */
  oauthIssuers: 5,
  oauthScopes: 200,
  oauthScopeBytes: 8 * KIB,
  /** The callback listener: sockets at once, bytes of a request head, patience with a head, and with the exchange behind a page. */
  callbackSockets: 64,
  callbackHeaderBytes: 16 * KIB,
  callbackHeadMs: 10_000,
  callbackPageMs: 30_000,
  oauthPastes: 5,
  /** Device sign-in: polling interval where the server names none and step of `slow_down`, longest interval, longest life of a code. */
  devicePollMs: 5_000,
  devicePollCapMs: 60_000,
  deviceCodeMs: 30 * 60 * 1000,
  /** Step-ups for one tool in one process. */
  oauthStepUps: 3,
  oauthInteractiveMs: 300_000,
  oauthStartMs: 15_000,
  tokenSkewMs: 30_000,
  /** A program that prints headers (`headersCommand`): how long it may take, and how much it may print. */
  headersCommandMs: 10_000,
  headersCommandBytes: 64 * KIB,
  lockWaitMs: 45_000,
  poolGraceMs: 30_000,
  /** A server that ends within that time of connecting has not come to stay. */
  settledMs: 5_000,
  /** Several changes of a list in a row are read once, so long after the last. */
  listChangedMs: 50,
  /** The stored tools of one server. */
  catalogueBytes: 16 * MIB,
  /** Lifecycle operations at once, across servers: default and range. */
  connections: 8,
  connectionsMin: 1,
  connectionsMax: 64,
  /** Calls of one step at once, and children of one session at once: defaults, in the range of `connections`. */
  toolCalls: 8,
  delegations: 8,
  /** How deep sessions may delegate: a child's child is refused by default. */
  delegationDepth: 1,
  /** A session's journal that is restored from, and the calls of it that are remembered. */
  journalBytes: 64 * MIB,
  journalCalls: 100_000,
  /** What one session keeps as files, and the windows in which they are read. */
  artifactFiles: 10_000,
  artifactBytes: 1024 * MIB,
  artifactWindowBytes: 16 * KIB,
  artifactWindowBytesMax: 50 * KIB,
  /** The lock file of tool definitions. */
  lockFileBytes: 64 * MIB,
  /** Names of arguments in one record of the audit. */
  auditNames: 64,
  /** `input_required` rounds of one call. */
  inputRounds: 10,
  /** Answers of ours that wait for a server which does not read its input; beyond them its output is not read either. */
  waitingAnswerBytes: 1 * MIB,
  /** The same over HTTP, in messages on their way to it; further answers are dropped. */
  waitingAnswers: 1024,
  /** Server requests that may wait for an answer at once. */
  inboundRequests: 64,
  attachmentBytes: 10 * MIB,
  inlineImageBase64Bytes: 200 * KIB,
  modelTextBytes: 50_000,
  modelTextLines: 2_000,
  /** What a person is shown of a text that was too long for that and went into a file. */
  shownTextBytes: 4 * KIB,
  shownTextLines: 40,
  /** Pictures, sounds and blobs of one result that are told of one by one; the rest are kept together in one file. */
  resultAttachments: 32,
  /** A note about one of them. */
  attachmentNoteChars: 1_000,
  /** Two definitions are compared line by line up to so many lines each; more are shown as gone and come. Lines of one difference shown. */
  diffLines: 1_000,
  diffLinesShown: 400,
  toolIdChars: 64,
  /** Wire ids remembered per workspace; a name beyond them is unique by its digest alone. */
  rosterNames: 100_000,
  searchResults: 8,
  searchResultsMax: 20,
  /** Words of one query that count. */
  searchTokens: 32,
  previewChars: 240,
  serviceSummaryBytes: 8_192,
  exposureTools: 32,
  exposureBytes: 65_536,
  exposureToolsPerServer: 8,
  /** The most that a configuration may ask for instead. */
  exposureToolsMax: 10_000,
  exposureBytesMax: 64 * MIB,
  /** The record of calls: bytes of one file and full files kept, with what a configuration may ask for. */
  auditBytes: 10 * MIB,
  auditBytesMin: 4 * KIB,
  auditBytesMax: 1024 * MIB,
  auditFiles: 5,
  auditFilesMax: 100,
  /** Markdown files of agents and of commands: files of one directory, bytes of one, folders inside each other. */
  definitionFiles: 500,
  definitionBytes: 256 * KIB,
  definitionDepth: 8,
  /** JSON Schema checks: nesting of schemas and values, schemas visited for one value, problems reported. */
  schemaDepth: 64,
  schemaVisits: 100_000,
  schemaProblems: 20,
  /** Worst-case steps that one test of a `pattern` may cost; longer strings are left to the server. */
  patternSteps: 100_000_000,
  jsonDepth: 512,
  /** The YAML at the head of a skill's SKILL.md. */
  frontmatterChars: 64 * KIB,
  frontmatterDepth: 32,
  /** Files of one skill and their bytes together (SEP-2640): what every host accepts, and we nothing beyond. */
  skillFiles: 512,
  skillBytes: 16 * MIB,
  /** A server of ours: legacy HTTP sessions and how long an unused one is kept; requests of one peer at once. */
  serverSessions: 1_000,
  serverSessionIdleMs: 30 * 60 * 1000,
  serverRequests: 1_024,
  /** Sockets, request head, request body (default and the most that may be configured), and patience with head, body, stalled and unused sockets. */
  serverSockets: 4_096,
  serverHeaderBytes: 32 * KIB,
  serverBodyBytes: 16 * MIB,
  serverBodyBytesMax: 64 * MIB,
  serverHeadMs: 10_000,
  serverBodyMs: 60_000,
  serverStallMs: 120_000,
  serverIdleMs: 30_000,
  /** An unanswered request becomes an event stream after so long, and a quiet stream gets a comment. */
  serverStreamAfterMs: 5_000,
  serverKeepAliveMs: 15_000,
  serverTickMs: 1_000,
  /** Bytes that a peer which does not read may leave waiting, before what can be left out is, and before its stream is cut. */
  serverBacklogBytes: 1 * MIB,
  serverBacklogBytesMax: 128 * MIB,
  /** Events of one session kept for a client that comes back. */
  replayEvents: 1_000,
  replayBytes: 4 * MIB,
  /** Patience with requests that still run when a server of ours ends. */
  serverDrainMs: 5_000,
  /** A person's answer; calls suspended for one; spent states remembered (older ones count as spent); bytes of one state. */
  serverAskMs: 10 * 60 * 1000,
  suspendedCalls: 1_000,
  spentStates: 10_000,
  requestStateBytes: 1 * MIB,
  /** `subscriptions/listen` streams at once, and resources that one of them or one session watches. */
  subscriptions: 1_024,
  subscribedResources: 1_024,
  /** A recorded trace: bytes of the file, of one message in it, and of what waits for a slow disk. */
  traceBytes: 256 * MIB,
  traceMessageBytes: 8 * MIB,
  traceBacklogBytes: 16 * MIB,
  retryTries: 3,
  retryFirstMs: 2_000,
  retryFactor: 2,
  retryCapMs: 30_000,
  retryJitter: 0.2,
  /** Stages, connections and HTTP answers kept of one try at connecting. */
  attemptFacts: 100,
} as const;

export type Limits = typeof limits;
