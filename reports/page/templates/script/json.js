// JSON as text and back without touching its numbers: sizes and 64-bit values go beyond what a Number holds.
const NUMBER = "\0"; // begins a text that stands for a number
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

const parseExactly = (text) => JSON.parse(text.replace(TOKEN, (token) => (token[0] === '"' ? token : `"\\u0000${token}"`)));

const textOf = (value) => (typeof value === "string" ? value.replace(NUMBER, "") : "");
const integers = (value) =>
  Array.isArray(value) && value.every((item) => /^\0-?\d+$/.test(item)) ? value.map((item) => BigInt(textOf(item))) : null;

const flat = (value) => {
  if (typeof value === "string" && value.startsWith(NUMBER)) return textOf(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`;
  return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${flat(item)}`).join(", ")}}`;
};

// For people: whatever fits on a line is on one line, so that sizes and strides stay together.
const laidOut = (value, width = 88, indent = "", used = 0) => {
  const line = flat(value);
  if (used + line.length <= width || value === null || typeof value !== "object" || line.length === 2) return line;
  const inner = `${indent}  `;
  const items = Object.entries(value).map(([name, item]) => {
    const label = Array.isArray(value) ? "" : `${JSON.stringify(name)}: `;
    return inner + label + laidOut(item, width, inner, inner.length + label.length);
  });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${items.join(",\n")}\n${indent}${close}`;
};
