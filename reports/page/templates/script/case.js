// One case with everything there is to it.
const figureOf = (caption, text) =>
  element("figure", {}, element("figcaption", {}, caption), element("pre", { tabindex: 0 }, text));

const commandOf = (caption, text) => {
  const source = element("pre", { tabindex: 0 }, text);
  const button = element("button", { type: "button", class: "copy" }, "Copy", element("span", { class: "hidden" }, ` ${caption}`));
  offerCopy(button, source);
  return element("figure", {}, element("figcaption", {}, caption), element("div", { class: "command" }, source, button));
};

const ruleText = (cases, id) => {
  const [statement, source, erratum] = cases.head.rules[id] ?? ["", "", ""];
  if (!statement) return element("p", {}, id ? "" : "About no rule in particular.");
  const sentence = `${statement[0].toUpperCase()}${statement.slice(1)}.`;
  return element(
    "p",
    {},
    `${sentence} `,
    erratum ? ["Left open by erratum ", element("code", {}, erratum), ". "] : [],
    source.startsWith("https://") ? element("a", { href: source, rel: "noreferrer" }, "Source") : [],
  );
};

// As one word of a POSIX shell.
const quoted = (text) => `'${text.replaceAll("'", "'\"'\"'")}'`;

// A button that saves the case as it was recorded.
const saving = (name, json) => {
  const button = element("button", { type: "button" }, "Download the case");
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([json], { type: "application/json" }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
  return element("p", { class: "actions" }, button);
};

const answersElsewhere = (cases, row, addressFor) => {
  const others = cases.withDigest(cases.digest(row));
  if (others.length < 2) return [];
  return table(
    { label: "The same case elsewhere", caption: "Every time this case came up" },
    ["Campaign", "Phase", "Verdict", "Decision"],
    others.slice(0, 50).map((other) => [
      element("th", { scope: "row" }, element("a", { href: addressFor(other), "aria-current": other === row ? "true" : undefined }, cases.label(other, "campaign"))),
      element("td", {}, cases.label(other, "phase")),
      element("td", {}, verdictMark(cases.label(other, "verdict"))),
      element("td", {}, cases.label(other, "answered") || "not asked"),
    ]),
  );
};

const caseView = async (cases, row, addressFor) => {
  const trait = (name) => cases.label(row, name);
  const digest = cases.digest(row);
  const change = trait("change");
  const facts = [
    ["Campaign", trait("campaign")],
    ["Verdict", verdictMark(trait("verdict"))],
    ["Specification", trait("expected").toLowerCase()],
    ["Backend", trait("answered") || "not asked"],
    ["Level", trait("level")],
    ["Phase", trait("phase")],
    ["Type", [trait("data_type"), trait("index_type")].filter(Boolean).join(", indices ")],
    ["Layout", trait("layout")],
    ["Values", trait("pattern")],
    ["Since the baseline", change],
  ].filter(([, value]) => value !== "");
  const head = [
    element("h3", { id: "case-title", tabindex: -1 }, operatorLink(trait("operator")), ` at ${trait("level")}, case `, element("span", { class: "mono" }, digest)),
    element("dl", { class: "facts plain" }, facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    element("h4", {}, element("code", {}, trait("rule") || "no rule in particular")),
    ruleText(cases, trait("rule")),
    answersElsewhere(cases, row, addressFor),
  ];
  const whole = await cases.whole(row);
  if (!whole) {
    return [...head, element("p", { class: "left-out" }, "The page has no room for the rest of this case; results.sqlite has it.")];
  }
  const content = parseExactly(whole.json);
  const tensors = tensorsOf(content?.desc);
  const output = tensors.find(({ name }) => name === "OutputTensor");
  const { differences, differenceCount, reason, reproduce } = whole;
  const isPlaced = output && differences.every((d) => d.coordinates.length === output.sizes.length);
  return [
    ...head,
    reason ? element("p", { class: "reason" }, reason) : [],
    differences.length && isPlaced ? differenceGrid(output, differences, differenceCount) : [],
    differences.length ? differenceTable(isPlaced ? output : undefined, differences, differenceCount) : [],
    reproduce ? commandOf("Reproduce", reproduce) : [],
    commandOf("Write it as a DxDispatch model", `dml-conformance export-model ${quoted(whole.json)} --out case-${digest}`),
    saving(`case-${digest}.json`, whole.json),
    tensors.length ? tensorTable(tensors) : [],
    ...tensors.flatMap((tensor) => memoryPicture(tensor, tensor === output ? differences : [])),
    figureOf("Case", laidOut(content)),
  ].flat();
};
