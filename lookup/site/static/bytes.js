// Parts of files on the web server that the page came from.

const LARGEST_WHOLE = 1 << 20; // bytes; a smaller file is fetched at once
const KEPT = 64 << 20; // bytes of parts that are remembered, for each file

export class Unreachable extends Error {}

async function fetched(url, options) {
  let response;
  try {
    response = await fetch(url, options);
    if (response.ok) {
      return [response.status, new Uint8Array(await response.arrayBuffer())];
    }
  } catch {
    throw new Unreachable(`${url} cannot be fetched: is the server still there?`);
  }
  throw new Unreachable(`${url} cannot be fetched: the server answers with status ${response.status}`);
}

export const json = async (url) => {
  const [, bytes] = await fetched(url, { cache: "no-cache" });
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Unreachable(`${url} cannot be used: the server answers with something else`);
  }
};

// A file of known size. Servers that know no ranges send all of it, which is then kept. `version`
// changes with the content, so that no cache mixes an old part with a new one.
export class RemoteFile {
  #whole = null;
  #first = null; // the first part that was asked for: it tells whether the server knows ranges

  constructor(url, size, version) {
    Object.assign(this, { url: `${url}?v=${version}`, size });
  }

  async read(offset, size) {
    if (!this.#whole && (this.size <= LARGEST_WHOLE || size === this.size)) {
      this.#whole = fetched(this.url).then(([, bytes]) => this.#checked(bytes, this.size));
      this.#whole.catch(() => {
        this.#whole = null; // asked again the next time
      });
    }
    if (!this.#whole) {
      // Others wait for the first, or a server without ranges would send all to each of them.
      await this.#first?.catch(() => null);
    }
    if (!this.#whole) {
      const part = this.#part(offset, size);
      this.#first ??= part;
      const bytes = await part;
      if (bytes) {
        return bytes;
      }
    }
    return (await this.#whole).subarray(offset, offset + size);
  }

  // A part, or null if all of the file came instead.
  async #part(offset, size) {
    const range = `bytes=${offset}-${offset + size - 1}`;
    const [status, bytes] = await fetched(this.url, { headers: { range } });
    if (status === 206) {
      return this.#checked(bytes, size);
    }
    this.#whole = Promise.resolve(this.#checked(bytes, this.size));
    return null;
  }

  // What is cut short is not remembered. (Of other bytes of the same number the digests tell.)
  #checked(bytes, size) {
    if (bytes.length !== size) {
      const name = this.url.split("?")[0];
      throw new Unreachable(`${name} cannot be used: ${bytes.length} bytes came, expected ${size}`);
    }
    return bytes;
  }
}

// What was asked for last, up to a number of bytes.
export class Remembered {
  #parts = new Map();
  #held = 0;

  get(key) {
    const found = this.#parts.get(key);
    if (found) {
      this.#parts.delete(key); // and put last, as the one that was used last
      this.#parts.set(key, found);
    }
    return found;
  }

  set(key, bytes) {
    this.#held += bytes.length - (this.#parts.get(key)?.length ?? 0);
    this.#parts.set(key, bytes);
    for (const [oldest, part] of this.#parts) {
      if (this.#held <= KEPT || oldest === key) {
        return;
      }
      this.#parts.delete(oldest);
      this.#held -= part.length;
    }
  }
}
