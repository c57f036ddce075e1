// JSON as text and back without touching its numbers: sizes and 64-bit values go beyond what a Number holds.
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{}:,]/g;

class Literal {
  constructor(text) {
    this.text = text;
  }
}

const parseExactly = (text) => {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const value = () => {
    const token = tokens[at++];
    if (token === "{") {
      const found = new Map();
      while (tokens[at] !== "}" && at < tokens.length) {
        const name = JSON.parse(tokens[at]);
        at += 2; // the name and its colon
        found.set(name, value());
        if (tokens[at] === ",") at++;
      }
      at++;
      return found;
    }
    if (token === "[") {
      const found = [];
      while (tokens[at] !== "]" && at < tokens.length) {
        found.push(value());
        if (tokens[at] === ",") at++;
      }
      at++;
      return found;
    }
    return new Literal(token ?? "null");
  };
  return value();
};

const flat = (value) => {
  if (value instanceof Literal) return value.text;
  if (value instanceof Map) return `{${[...value].map(([name, item]) => `${JSON.stringify(name)}: ${flat(item)}`).join(", ")}}`;
  return `[${value.map(flat).join(", ")}]`;
};

// For people: whatever fits on a line is on one line, so that sizes and strides stay together.
const laidOut = (value, width = 88, indent = "", used = 0) => {
  const line = flat(value);
  if (used + line.length <= width || value instanceof Literal || (value.size ?? value.length) === 0) return line;
  const inner = `${indent}  `;
  const isMap = value instanceof Map;
  const items = (isMap ? [...value] : value.map((item) => ["", item])).map(([name, item]) => {
    const label = isMap ? `${JSON.stringify(name)}: ` : "";
    return inner + label + laidOut(item, width, inner, inner.length + label.length);
  });
  const [open, close] = isMap ? "{}" : "[]";
  return `${open}\n${items.join(",\n")}\n${indent}${close}`;
};

const integers = (value) =>
  Array.isArray(value) && value.every((item) => item instanceof Literal && /^-?\d+$/.test(item.text))
    ? value.map((item) => BigInt(item.text))
    : null;
const textOf = (value) => (value instanceof Literal ? (value.text.startsWith('"') ? JSON.parse(value.text) : value.text) : "");
