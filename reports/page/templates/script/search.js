// Finding operators, rules and verdicts by their names: links to what the page has of them.
const MOST_FOUND = 12;

const offerSearch = (cases, place) => {
  const { tallies, rules } = cases.head;
  const entries = [
    ...Object.keys(tallies).map((name) => ({ name, kind: "operator", address: operatorLink(name).hash })),
    ...[DIFFERS, ...cases.columns.get("verdict").labels].map((name) => ({ name, kind: "verdict", address: addressOf(CASES, new Map([["verdict", name]])) })),
    ...Object.entries(rules).map(([name, [statement]]) => ({ name, kind: "rule", told: statement, address: addressOf(CASES, new Map([["rule", name]])) })),
  ];
  const texts = entries.map(({ name, kind, told }) => `${kind} ${name} ${told ?? ""}`.toLowerCase());
  const text = element("input", { type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Operator, rule or verdict", "aria-label": "Find an operator, a rule or a verdict" });
  const found = element("ul", { class: "finds", hidden: true });
  const status = element("span", { class: "hidden", role: "status" });
  const show = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = words.length ? entries.filter((_, i) => words.every((word) => texts[i].includes(word))) : [];
    // What has it in its name comes before what has it in its words.
    const named = (entry) => words.every((word) => entry.name.toLowerCase().includes(word)) ? 0 : 1;
    matches.sort((a, b) => named(a) - named(b));
    const more = matches.length - MOST_FOUND;
    found.replaceChildren(
      ...matches.slice(0, MOST_FOUND).map(({ name, kind, address, told }) => element("li", {}, element("a", { href: address, title: told }, name), element("span", { class: "soft" }, ` ${kind}`))),
      ...(more > 0 ? [element("li", { class: "soft" }, `${more.toLocaleString("en")} more`)] : []),
    );
    found.hidden = !words.length;
    status.textContent = words.length ? `${matches.length.toLocaleString("en")} found` : "";
  };
  const clear = () => {
    text.value = "";
    show();
  };
  text.addEventListener("input", show);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector("a")?.click();
    else if (event.key === "Escape") clear();
  });
  addEventListener("hashchange", clear);
  place.before(element("div", { class: "find", role: "search", "aria-label": "The page" }, text, status, found));
};
