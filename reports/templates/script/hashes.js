// SHAKE-128 (FIPS 202), from which a recipe's bytes come, and SHA-256 (FIPS 180-4), by which a case is named.
// A 64-bit lane of Keccak is two numbers of 32 bits: [low, high].
const KECCAK_ROUNDS = 24;
const SHAKE_RATE = 168; // bytes

// The round constants, by the linear feedback shift register that FIPS 202 defines them with.
const KECCAK_CONSTANTS = (() => {
  let register = 1;
  return Array.from({ length: KECCAK_ROUNDS }, () => {
    const lane = [0, 0];
    for (let j = 0; j < 7; j++) {
      const bit = 2 ** j - 1;
      if (register & 1) lane[bit >> 5] |= 1 << (bit & 31);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    return lane;
  });
})();

// How far each lane is rotated and where it goes, along the walk that FIPS 202 describes; lane x, y is number x + 5 y.
const KECCAK_WALK = (() => {
  const steps = [];
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t++) {
    const to = [y, (2 * x + 3 * y) % 5];
    steps.push([x + 5 * y, to[0] + 5 * to[1], (((t + 1) * (t + 2)) / 2) % 64]);
    [x, y] = to;
  }
  return steps;
})();

const keccak = (state) => {
  const moved = new Int32Array(50);
  const sums = new Int32Array(10);
  for (let round = 0; round < KECCAK_ROUNDS; round++) {
    for (let i = 0; i < 10; i++) sums[i] = state[i] ^ state[i + 10] ^ state[i + 20] ^ state[i + 30] ^ state[i + 40];
    for (let x = 0; x < 5; x++) {
      const [before, after] = [2 * ((x + 4) % 5), 2 * ((x + 1) % 5)];
      const low = sums[before] ^ ((sums[after] << 1) | (sums[after + 1] >>> 31));
      const high = sums[before + 1] ^ ((sums[after + 1] << 1) | (sums[after] >>> 31));
      for (let i = 2 * x; i < 50; i += 10) {
        state[i] ^= low;
        state[i + 1] ^= high;
      }
    }
    moved[0] = state[0];
    moved[1] = state[1];
    for (const [from, to, by] of KECCAK_WALK) {
      const [low, high] = by & 32 ? [state[2 * from + 1], state[2 * from]] : [state[2 * from], state[2 * from + 1]];
      const bits = by & 31;
      moved[2 * to] = bits ? (low << bits) | (high >>> (32 - bits)) : low;
      moved[2 * to + 1] = bits ? (high << bits) | (low >>> (32 - bits)) : high;
    }
    for (let row = 0; row < 50; row += 10) {
      for (let i = 0; i < 10; i++) state[row + i] = moved[row + i] ^ (~moved[row + ((i + 2) % 10)] & moved[row + ((i + 4) % 10)]);
    }
    state[0] ^= KECCAK_CONSTANTS[round][0];
    state[1] ^= KECCAK_CONSTANTS[round][1];
  }
};

// So many bytes of SHAKE-128 over a text that is shorter than a block.
const shake128 = (text, count) => {
  const state = new Int32Array(50);
  const bytes = new Uint8Array(state.buffer);
  const message = new TextEncoder().encode(text);
  if (message.length >= SHAKE_RATE) throw new RangeError("a recipe of such a long name is not known");
  bytes.set(message);
  bytes[message.length] ^= 0x1f;
  bytes[SHAKE_RATE - 1] ^= 0x80;
  const found = new Uint8Array(count);
  for (let at = 0; at < count; at += SHAKE_RATE) {
    keccak(state);
    found.set(bytes.subarray(0, Math.min(SHAKE_RATE, count - at)), at);
  }
  return found;
};

// The first 32 bits of the fractional parts of roots of the first primes.
const sha256Constants = (count, root) => {
  const found = [];
  for (let n = 2; found.length < count; n++) {
    let isPrime = true;
    for (let d = 2; d * d <= n; d++) isPrime &&= n % d !== 0;
    if (isPrime) found.push(((root(n) % 1) * 2 ** 32) | 0);
  }
  return found;
};
const SHA256_START = sha256Constants(8, Math.sqrt);
const SHA256_ROUNDS = sha256Constants(64, Math.cbrt);

// Of a text, hexadecimal.
const sha256 = (text) => {
  const message = new TextEncoder().encode(text);
  const padded = new DataView(new ArrayBuffer(Math.ceil((message.length + 9) / 64) * 64));
  new Uint8Array(padded.buffer).set(message);
  padded.setUint8(message.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(message.length) * 8n);
  const hash = Int32Array.from(SHA256_START);
  const words = new Int32Array(64);
  const rotated = (word, by) => (word >>> by) | (word << (32 - by));
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) words[i] = padded.getInt32(block + 4 * i);
      else {
        const [a, b] = [words[i - 15], words[i - 2]];
        words[i] = words[i - 16] + words[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3)) + (rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + SHA256_ROUNDS[i] + words[i]) | 0;
      const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
  }
  return [...hash].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
};
