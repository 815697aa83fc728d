/** Where a session keeps what is too big for a model: a directory of its own, closed to everybody else, bounded, read in windows. */
import * as path from 'node:path';
import { Failure } from '../base/failure.ts';
import { isFile, makeDirectory, makePrivateDirectory, readDirectory, readWindow, realPath, sizeOf, writeFileAtomic } from '../base/files.ts';
import { limits } from '../base/limits.ts';
import { byteSize } from '../base/text.ts';
import type { WriteArtifact } from '../registry/artifacts.ts';
import { readWindow as textWindow, type TextWindow } from '../registry/window.ts';

export interface ArtifactStore {
  readonly directory: string;
  /** Rejects with LIMIT_EXCEEDED when the session keeps too much already. */
  readonly write: WriteArtifact;
  /** See `Session.readArtifact`. */
  read(file: string, cursor?: number, maxBytes?: number): TextWindow;
}

/** Nothing is made on the disk before something is kept. */
export function createArtifactStore(directory: string): ArtifactStore {
  let files = 0, bytes = 0, prepared = false;

  const prepare = (): void => {
    makeDirectory(path.dirname(directory));
    makePrivateDirectory(directory);
    const there = readDirectory(directory).map((name) => sizeOf(path.join(directory, name)) ?? 0);
    files = there.length;
    bytes = there.reduce((sum, size) => sum + size, 0);
    prepared = true;
  };

  return {
    directory,
    async write(name, content) {
      if (!prepared) prepare();
      const file = path.join(directory, path.basename(name));
      const before = sizeOf(file), size = Buffer.byteLength(content);
      // The name tells the content: what is there already is the same.
      if (before === size) return file;
      if (files + 1 > limits.artifactFiles) throw full('artifactFiles', limits.artifactFiles, `${files} files`);
      if (bytes + size > limits.artifactBytes) throw full('artifactBytes', limits.artifactBytes, byteSize(bytes));
      files += 1;
      bytes += size;
      await writeFileAtomic(file, content, { mode: 0o600 });
      return file;
    },
    read(file, cursor = 0, maxBytes = limits.artifactWindowBytes) {
      const wanted = path.resolve(directory, file), home = realPath(directory), real = realPath(wanted);
      if (home === undefined || real === undefined || path.dirname(real) !== home || !isFile(real)) {
        throw new Failure('USAGE', `Cannot read "${file}": it is no file that this session kept`, { stage: 'usage', details: { argument: file }, hint: `The files of the session are in ${directory}` });
      }
      if (!Number.isSafeInteger(cursor) || cursor < 0) throw new TypeError('The cursor is a number of bytes, 0 or more');
      return windowOf(real, cursor, Math.min(maxBytes, limits.artifactWindowBytesMax));
    },
  };
}

function full(limit: string, maximum: number, kept: string): Failure {
  return new Failure('LIMIT_EXCEEDED', `Cannot keep another file: the session keeps ${kept} already`, { stage: 'call', details: { limit, maximum } });
}

/** Only what lies around the window is read: characters have at most four bytes. */
function windowOf(file: string, cursor: number, maxBytes: number): TextWindow {
  const from = Math.max(0, cursor - 3), { bytes, size } = readWindow(file, from, cursor - from + maxBytes + 4);
  const { text, cursor: start, nextCursor } = textWindow(bytes, cursor - from, maxBytes);
  return { text, cursor: from + start, nextCursor: from + nextCursor, totalBytes: size, hasMore: from + nextCursor < size };
}
