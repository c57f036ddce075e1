// Making elements. Whatever comes from a record becomes a text node or an attribute's value, never markup.
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]/gu;

const printable = (text) =>
  String(text).replace(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, printable(value));
  }
  made.append(...children.flat().map((child) => (child instanceof Node ? child : printable(child))));
  return made;
};

const table = (attributes, heads, rows) =>
  element(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": attributes.label },
    element(
      "table",
      { class: attributes.class },
      attributes.caption ? element("caption", {}, attributes.caption) : [],
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((cells) => element("tr", {}, cells))),
    ),
  );

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

const SYMBOLS = {
  pass: "✓", fail: "✗", crash: "✗", timeout: "✗", error: "?", observed: "○", "not-supported": "–", waived: "–",
};
const TONES = {
  pass: "conformant", fail: "not-conformant", crash: "not-conformant", timeout: "not-conformant", error: "incomplete",
  observed: "observed-only", "not-supported": "not-supported", waived: "incomplete",
};
const verdictMark = (verdict) =>
  element(
    "span",
    { class: `verdict ${TONES[verdict] ?? "not-supported"}` },
    element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[verdict] ?? "?"),
    verdict,
  );
