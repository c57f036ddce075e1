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

// A button that saves what `made` gives, as {name, blob}, or says why there is nothing.
const saving = (title, made) => {
  const button = element("button", { type: "button" }, title);
  button.addEventListener("click", () => {
    try {
      const { name, blob } = made();
      const address = URL.createObjectURL(blob);
      element("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      button.replaceWith(element("span", { role: "status" }, `It cannot be made here: ${error.message}.`));
    }
  });
  return button;
};

// The case as a DxDispatch model: to download or, where this page cannot make it, by a command, with the reason.
const modelParts = (cases, row, content, whole) => {
  const digest = cases.digest(row);
  const { rules } = cases.head;
  const command = commandOf("Write it as a DxDispatch model", `dml-conformance export-model ${quoted(whole.json)} --out case-${digest}`);
  try {
    checkedForModel(content, whole, digest, rules);
  } catch (error) {
    const reason = error instanceof NoSuchData || error instanceof NotExpressible ? error.message : "it has not the form of a case";
    const isNever = error instanceof NotExpressible;
    return [element("p", {}, isNever ? `There is no DxDispatch model of it: ${reason}.` : `This page cannot make a DxDispatch model of it: ${reason}.`), isNever ? [] : command].flat();
  }
  const made = () => {
    const { name, files } = dxdispatchModel(content, whole, cases.label(row, "verdict"), digest, rules);
    return { name: `${name}.zip`, blob: zipped(files.map(([file, bytes]) => [`${name}/${file}`, bytes])) };
  };
  return [command, element("p", { class: "actions" }, saving("Download the DxDispatch model", made))];
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
    element("h3", { id: "case-title", tabindex: -1 }, `${trait("operator")} at ${trait("level")}, case `, element("span", { class: "mono" }, digest)),
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
  const desc = content instanceof Map ? content.get("desc") : undefined;
  const tensors = tensorsOf(desc);
  const output = tensors.find(({ name }) => name === "OutputTensor");
  const isPlaced = output && whole.differences.every((d) => d.coordinates.length === output.sizes.length);
  const differing = whole.differences.length
    ? [
        isPlaced ? differenceGrid(output, whole.differences, whole.differenceCount, expectedIn(content, whole)) : [],
        differenceTable(isPlaced ? output : undefined, whole.differences, whole.differenceCount),
      ]
    : [];
  return [
    ...head,
    whole.reason ? element("p", { class: "reason" }, whole.reason) : [],
    ...differing.flat(),
    whole.reproduce ? commandOf("Reproduce", whole.reproduce) : [],
    element("p", { class: "actions" }, saving("Download the case", () => ({ name: `case-${digest}.json`, blob: new Blob([whole.json], { type: "application/json" }) }))),
    ...modelParts(cases, row, content, whole),
    tensors.length ? tensorTable(tensors) : [],
    ...tensors.flatMap((tensor) => memoryPicture(tensor, tensor === output ? whole.differences : [])),
    figureOf("Case", laidOut(content)),
  ].flat();
};
