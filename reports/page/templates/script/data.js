// The cases that the page carries: rows at once, whole cases block by block when they are asked for.
const inflated = async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// A line of a block: a case as its JSON text, and what came of it.
const wholeCase = (line) => {
  const tab = line.indexOf("\t");
  const [reason, differenceCount, told, reproduce] = JSON.parse(line.slice(tab + 1));
  const differences = told.map(([coordinates, expected, expected_bits, actual, actual_bits, ulp]) => ({ coordinates, expected, expected_bits, actual, actual_bits, ulp }));
  return { json: line.slice(0, tab), reason, differenceCount, differences, reproduce };
};

class Cases {
  static async read(rows, flags, blocks) {
    const [bytes, bits] = await Promise.all([inflated(rows), inflated(flags)]);
    return new Cases(bytes, bits, blocks);
  }

  constructor(bytes, bits, blocks) {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    this.head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    this.length = this.head.rows;
    this.columns = new Map();
    let offset = 4 + length;
    for (const { name, width, labels } of this.head.columns) {
      const size = this.length * width;
      const copy = bytes.slice(offset, offset + size).buffer; // a copy starts where numbers of this width may
      const codes = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width];
      this.columns.set(name, { labels, codes: new codes(copy) });
      offset += size;
    }
    this.digests = bytes.subarray(offset);
    this.places = new Int32Array(this.length).fill(-1); // of a row among the whole cases
    let place = 0;
    for (let row = 0; row < this.length; row++) if ((bits[row >> 3] >> (row & 7)) & 1) this.places[row] = place++;
    this.blocks = blocks;
    this.unpacked = new Map();
  }

  label(row, name) {
    const { labels, codes } = this.columns.get(name);
    return labels[codes[row]];
  }

  digest(row) {
    const size = this.head.digits / 2;
    let text = "";
    for (let i = row * size; i < (row + 1) * size; i++) text += this.digests[i].toString(16).padStart(2, "0");
    return text;
  }

  // The rows of the cases with this digest: the same case may come up in several phases and campaigns.
  withDigest(digest) {
    if (!new RegExp(`^[0-9a-f]{${this.head.digits}}$`).test(digest)) return [];
    this.sorted ??= this.byDigest();
    const { keys, order } = this.sorted;
    const wanted = parseInt(digest, 16);
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (keys[order[middle]] < wanted) low = middle + 1;
      else high = middle;
    }
    const found = [];
    while (low < this.length && keys[order[low]] === wanted) found.push(order[low++]);
    return found;
  }

  byDigest() {
    const size = this.head.digits / 2; // six bytes, which a number holds exactly
    const keys = new Float64Array(this.length);
    for (let row = 0; row < this.length; row++) {
      for (let i = row * size; i < (row + 1) * size; i++) keys[row] = keys[row] * 256 + this.digests[i];
    }
    const order = Uint32Array.from({ length: this.length }, (_, row) => row).sort((a, b) => keys[a] - keys[b] || a - b);
    return { keys, order };
  }

  // The lines of a block; a block is unpacked once.
  async lines(block) {
    if (!this.unpacked.has(block)) {
      const text = inflated(this.blocks[block]).then((bytes) => new TextDecoder().decode(bytes).split("\n"));
      this.unpacked.set(block, text);
    }
    return this.unpacked.get(block);
  }

  // A case that is there whole, or null where the page has only its row.
  async whole(row) {
    const place = this.places[row];
    if (place < 0) return null;
    const line = (await this.lines(Math.floor(place / this.head.block)))[place % this.head.block];
    return wholeCase(line);
  }
}
