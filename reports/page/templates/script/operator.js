// One operator: what the page's sections have of it, folded or not, put together when it is asked for.
const operatorLink = (name) => element("a", { href: addressOf(OPERATOR, new Map([["operator", name]])) }, name);

// A section with all that is folded in it.
const sections = new Map();
const wholeSection = (section) => {
  if (!sections.has(section)) {
    const whole = section.cloneNode(true);
    for (const folded of whole.querySelectorAll("noscript")) folded.replaceWith(...parsed(folded).childNodes);
    for (const row of whole.querySelectorAll(".unfolded")) row.remove();
    sections.set(section, whole);
  }
  return sections.get(section);
};

// Its rows in their tables, its panels in their plots, and what else is about it alone.
const piecesOf = (section, operator) => {
  const frames = new Map();
  const pieces = [];
  for (const found of wholeSection(section).querySelectorAll(`[data-operator~="${CSS.escape(operator)}"]`)) {
    const place = found.closest(".scroll, figure.plot");
    if (place && !frames.has(place)) {
      const frame = place.cloneNode(true);
      for (const each of frame.querySelectorAll("tbody, .panels")) each.remove();
      frame.querySelector("table")?.classList.remove("sortable");
      frames.set(place, frame);
      pieces.push(frame);
    }
    const frame = place && (frames.get(place).querySelector("table") ?? frames.get(place));
    const kind = found.tagName === "TR" ? "tbody" : "div";
    const own = found.tagName === "TBODY" || !frame ? found.cloneNode(true) : element(kind, { class: kind === "div" ? "panels" : undefined }, found.cloneNode(true));
    if (frame) frame.append(own);
    else pieces.push(own);
  }
  return pieces;
};

// What came of its cases, by rule: what differs first.
const rulesOf = (cases, operator) => {
  const { tallies, campaigns, differing, rules } = cases.head;
  const cell = (rule, campaign, counts) => {
    const number = (...verdicts) => verdicts.reduce((sum, verdict) => sum + (counts[verdict] ?? 0), 0);
    const all = number(...Object.keys(counts));
    const wrong = number(...differing);
    const traits = new Map([["campaign", campaigns.length > 1 ? campaign : ""], ["operator", operator], ["rule", rule || "-"], ["verdict", wrong ? "differs" : ""]]);
    const verdict = wrong ? "fail" : counts.pass ? "pass" : counts.observed ? "observed" : "not-supported";
    const told = wrong ? `${wrong.toLocaleString("en")} of ${all.toLocaleString("en")}` : all.toLocaleString("en");
    return element("td", { class: `verdict ${TONES[verdict]}` }, all ? [element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[verdict]), element("a", { href: addressOf(CASES, traits) }, told), element("span", { class: "soft" }, ` ${wrong ? "differ" : verdict}`)] : "no case");
  };
  const wrongs = (counts) => counts.some((of) => differing.some((verdict) => of[verdict])) ? 0 : 1;
  const rows = Object.entries(tallies[operator]).sort(([, a], [, b]) => wrongs(a) - wrongs(b));
  return table(
    { label: `Cases of ${operator} by rule`, class: "wide by-rule" },
    ["Rule", ...(campaigns.length > 1 ? campaigns : ["Cases"]), "What it says"],
    rows.map(([rule, counts]) => [
      element("th", { scope: "row", class: "mono" }, rule || "no rule in particular"),
      ...campaigns.map((campaign, i) => cell(rule, campaign, counts[i])),
      element("td", {}, rule in rules ? ruleText(cases, rule) : ""),
    ]),
  );
};

const errataOf = (cases, operator) => {
  const found = cases.head.errata.filter(([, operators]) => !operators.length || operators.includes(operator));
  return element("ul", { class: "errata" }, found.map(([id, , resolution, finding, source]) => element("li", {}, element("a", { href: source, rel: "noreferrer" }, id), element("span", { class: "soft" }, ` ${resolution}: `), finding)));
};

const operatorView = (cases, operator) => {
  if (!(operator in cases.head.tallies)) return [element("p", {}, "This page has nothing of it.")];
  const own = [...document.querySelectorAll("main > section")].flatMap((section) => {
    const pieces = ["operator", "cases", "run"].includes(section.id) ? [] : piecesOf(section, operator);
    const rules = section.id === "matrix" ? [element("h3", {}, "Cases by rule"), rulesOf(cases, operator)] : [];
    return pieces.length ? [element("h3", {}, section.querySelector("h2").textContent), ...pieces, ...rules] : rules;
  });
  const leave = element("a", { href: "#matrix" }, "All operators");
  const list = element("a", { href: addressOf(CASES, new Map([["operator", operator]])) }, "Its cases");
  return [element("p", { class: "moves" }, leave, list), ...own, element("h3", {}, "Errata that apply"), errataOf(cases, operator)];
};

// Shown in place of the page's sections for as long as the address names it.
const offerOperators = (cases, place) => {
  const title = place.querySelector("h2");
  const follow = () => {
    const state = readState(OPERATOR);
    const wasOpen = !place.hidden;
    place.hidden = !state;
    place.parentElement.classList.toggle("one", Boolean(state));
    const operator = state?.get("operator") ?? "";
    title.textContent = printable(operator);
    place.replaceChildren(title, ...(state ? operatorView(cases, operator) : []));
    if (state) {
      offerCopies(place);
      place.scrollIntoView({ behavior: "instant" });
      title.focus({ preventScroll: true });
    } else if (wasOpen) document.getElementById(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" });
  };
  addEventListener("hashchange", follow);
  if (readState(OPERATOR)) follow();
};
