// Files in one archive, stored as they are (APPNOTE.TXT of PKWARE, version 2.0), without a date: the same files make the
// same archive.
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
const crc32 = (bytes) => {
  let sum = -1;
  for (const byte of bytes) sum = (sum >>> 8) ^ CRC_TABLE[(sum ^ byte) & 255];
  return ~sum >>> 0;
};
const FIRST_DAY = 0x21; // 1 January 1980

// Numbers in little-endian order, each as [value, bytes].
const packedNumbers = (fields) => {
  const found = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) found.setUint16(at, value, true);
    else found.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(found.buffer);
};

// An archive of [name, bytes].
const zipped = (files) => {
  const parts = [];
  const directory = [];
  let at = 0;
  const add = (list, ...bytes) => bytes.forEach((part) => list.push(part));
  for (const [name, content] of files) {
    const title = new TextEncoder().encode(name);
    // Version needed, flags, stored, time, date, checksum, size, size, length of the name, of what is beside it.
    const facts = [[20, 2], [0, 2], [0, 2], [0, 2], [FIRST_DAY, 2], [crc32(content), 4], [content.length, 4], [content.length, 4], [title.length, 2], [0, 2]];
    const start = at;
    add(parts, packedNumbers([[0x04034b50, 4], ...facts]), title, content);
    at += 30 + title.length + content.length;
    // The same again, with comment, disk, attributes inside and outside, and where the file starts.
    add(directory, packedNumbers([[0x02014b50, 4], [20, 2], ...facts, [0, 2], [0, 2], [0, 2], [0, 4], [start, 4]]), title);
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const ending = packedNumbers([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [at, 4], [0, 2]]);
  return new Blob([...parts, ...directory, ending], { type: "application/zip" });
};
