// Tensors in words and pictures, for any operator: sizes, strides, where elements lie, and which of them differ.
const TABLE_ROWS = 16; // of differing elements that are not folded away
const GRID_ROWS = 64;
const GRID_COLUMNS = 32;
const MEMORY_CELLS = 512;
const MEMORY_COLUMNS = 16;

const productOf = (sizes) => sizes.reduce((product, size) => product * size, 1n);
const extentOf = ({ sizes, strides }) => sizes.reduce((sum, size, i) => sum + (size - 1n) * strides[i], 1n);
const packedStrides = (sizes) => sizes.map((_, i) => productOf(sizes.slice(i + 1)));
const offsetOf = (coordinates, strides) => coordinates.reduce((sum, coordinate, i) => sum + BigInt(coordinate) * strides[i], 0n);
const elementBytes = (dataType) => BigInt(/(\d+)$/.exec(dataType)?.[1] ?? 8) / 8n;

// The tensors of a descriptor whose sizes and strides can be read; what is malformed is shown as JSON alone.
const tensorsOf = (desc) =>
  Object.entries(desc ?? {}).flatMap(([name, value]) => {
    const sizes = integers(value?.Sizes);
    if (!sizes?.length) return [];
    const isPacked = (value.Strides ?? null) === null;
    const strides = isPacked ? packedStrides(sizes) : integers(value.Strides);
    if (strides?.length !== sizes.length) return [];
    return [{ name, dataType: textOf(value.DataType), sizes, strides, isPacked, total: textOf(value.TotalTensorSizeInBytes) }];
  });

const layoutOf = (tensor) => {
  const { sizes, strides, isPacked } = tensor;
  if (isPacked) return "packed, no strides given";
  if (strides.some((stride, i) => stride === 0n && sizes[i] > 1n)) return "a stride of 0 repeats elements";
  const natural = packedStrides(sizes);
  if (strides.every((stride, i) => stride === natural[i] || sizes[i] === 1n)) return "packed";
  const [extent, count] = [extentOf(tensor), productOf(sizes)];
  return extent > count ? `strided, ${extent} elements from first to last for ${count}` : "strided without gaps";
};

const tensorTable = (tensors) =>
  table(
    { label: "Tensors of the descriptor", caption: "Tensors" },
    ["Tensor", "Type", "Sizes", "Strides", "Bytes", "Layout"],
    tensors.map((tensor) => [
      element("th", { scope: "row", class: "mono" }, tensor.name),
      element("td", { class: "mono" }, tensor.dataType),
      element("td", { class: "mono" }, tensor.sizes.join(", ")),
      element("td", { class: "mono" }, tensor.isPacked ? "none" : tensor.strides.join(", ")),
      element("td", { class: "number" }, tensor.total),
      element("td", {}, layoutOf(tensor)),
    ]),
  );

// Sorted indices with their neighbours, null for what is skipped between them.
const aroundThese = (indices, size, most) => {
  const wanted = new Set(indices.flatMap((i) => [i - 1, i, i + 1]).filter((i) => i >= 0 && i < size));
  if (size <= most) for (let i = 0; i < size; i++) wanted.add(i);
  const sorted = [...wanted].sort((a, b) => a - b).slice(0, most);
  const found = sorted.flatMap((i, n) => (n && i > sorted[n - 1] + 1 ? [null, i] : [i]));
  return sorted.length && sorted[sorted.length - 1] < size - 1 ? [...found, null] : found;
};

const before = (a, b) => {
  const d = a.findIndex((coordinate, i) => coordinate !== b[i]);
  return d >= 0 && a[d] < b[d];
};

// What a cell of the grid shows of a differing element: what was expected and what came.
const MODES = {
  value: ["Values", (d) => [d.expected, d.actual]],
  bits: ["Bits", (d) => [d.expected_bits || "open", d.actual_bits]],
  offset: ["Element offsets in memory", null],
};

// An output as planes of its last two dimensions that have more than one element; the others choose a slice. The first
// differing elements are recorded, in row-major order: whatever lies before the last of them and is not among them
// agrees, and what lies behind it is not known unless all are recorded.
const differenceGrid = (tensor, differences, count) => {
  const isAll = differences.length === count;
  const last = differences[differences.length - 1].coordinates;
  const wide = tensor.sizes.flatMap((size, d) => (size > 1n ? [d] : []));
  const across = wide[wide.length - 1] ?? tensor.sizes.length - 1;
  const down = wide[wide.length - 2] ?? across - 1; // -1 where there is one dimension alone
  const sliceOf = ({ coordinates }) => `[${coordinates.map((c, d) => (d === across || d === down ? ":" : c)).join(", ")}]`;
  const slices = new Map(differences.map((d) => [sliceOf(d), []]));
  for (const d of differences) slices.get(sliceOf(d)).push(d);
  const shown = { slice: sliceOf(differences[0]), mode: "value" };
  const place = element("div");
  const hidden = (text) => element("span", { class: "hidden" }, text);
  const cell = (coordinates, difference) => {
    const offset = offsetOf(coordinates, tensor.strides);
    const told = `[${coordinates.join(", ")}], element ${offset} in memory, byte ${offset * elementBytes(tensor.dataType)}`;
    const [, sides] = MODES[shown.mode];
    if (difference) {
      const [expected, actual] = sides ? sides(difference) : ["", offset];
      const came = element("span", { class: "actual" }, element("span", { "aria-hidden": "true" }, "≠ "), sides ? hidden("but got ") : [], actual);
      return element("td", { class: "differs", title: told }, hidden("differs: "), sides ? element("span", { class: "expected" }, expected) : [], came);
    }
    if (isAll || before(coordinates, last)) return element("td", { class: "same", title: told }, sides ? "=" : offset);
    return element("td", { class: "unknown", title: `${told}, not recorded` }, sides ? "·" : offset);
  };
  const draw = () => {
    const here = slices.get(shown.slice);
    const rowOf = ({ coordinates }) => coordinates[down] ?? 0;
    const at = new Map(here.map((d) => [`${rowOf(d)},${d.coordinates[across]}`, d]));
    const rows = aroundThese(here.map(rowOf), Number(tensor.sizes[down] ?? 1), GRID_ROWS);
    const columns = aroundThese(here.map((d) => d.coordinates[across]), Number(tensor.sizes[across]), GRID_COLUMNS);
    const cellAt = (row, column) => {
      if (row === null || column === null) return element("td", { class: "skipped" }, "…");
      return cell(here[0].coordinates.map((c, d) => (d === across ? column : d === down ? row : c)), at.get(`${row},${column}`));
    };
    place.replaceChildren(
      element(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": "Output, where it differs" },
        element(
          "table",
          { class: "grid mono" },
          element("thead", {}, element("tr", {}, element("td", {}, down < 0 ? " " : ""), columns.map((c) => element("th", { scope: "col" }, c ?? "…")))),
          element("tbody", {}, rows.map((r) => element("tr", {}, element("th", { scope: "row" }, r ?? "…"), columns.map((c) => cellAt(r, c))))),
        ),
      ),
    );
  };
  const choice = (label, options, name) => {
    const select = element("select", {}, options.map(([value, text]) => element("option", { value, selected: value === shown[name] }, text)));
    select.addEventListener("change", () => {
      shown[name] = select.value;
      draw();
    });
    return element("label", {}, `${label} `, select);
  };
  draw();
  const unknown = `${counted(count, "element")} ${count === 1 ? "differs" : "differ"}; the first ${differences.length} are recorded, and what came behind the last of them, marked ·, is not. `;
  return element(
    "figure",
    {},
    element("figcaption", {}, `${tensor.name} {${tensor.sizes.join(", ")}}: expected, then ≠ what came. = is as expected. `, isAll ? "" : unknown, slices.size > 1 ? "In the name of a slice the first : stands for rows, the second for columns." : ""),
    element(
      "div",
      { class: "choices" },
      choice("Show", Object.entries(MODES).map(([name, [title]]) => [name, title]), "mode"),
      slices.size > 1 ? choice("Slice", [...slices].map(([slice, { length }]) => [slice, `${slice}, ${length} ≠`]), "slice") : [],
    ),
    place,
  );
};

// The same one by one, folded away where there are many.
const differenceTable = (tensor, differences, count) => {
  const bytes = tensor ? elementBytes(tensor.dataType) : 1n;
  const caption = differences.length < count ? `First ${differences.length} of ${counted(count, "differing element")}` : counted(count, "differing element");
  const isLong = tensor && differences.length > TABLE_ROWS;
  const hasErrors = differences.some((d) => d.ulp !== null); // of results of arithmetic
  const list = table(
    { label: "Differing elements", caption: isLong ? undefined : caption },
    ["Coordinates", "Expected", "Bits", "Actual", "Bits", ...(hasErrors ? ["Error, ULP"] : []), "Element", "Byte"],
    differences.map((d) => {
      const offset = tensor ? offsetOf(d.coordinates, tensor.strides) : null;
      return [
        element("th", { scope: "row", class: "mono" }, d.coordinates.join(", ")),
        element("td", { class: "mono expected" }, d.expected),
        element("td", { class: "mono" }, d.expected_bits || "open"),
        element("td", { class: "mono actual" }, d.actual),
        element("td", { class: "mono" }, d.actual_bits),
        hasErrors ? element("td", { class: "number" }, d.ulp === null ? "" : `${Number(d.ulp.toPrecision(3))}`) : [],
        element("td", { class: "number" }, offset ?? ""),
        element("td", { class: "number" }, offset === null ? "" : offset * bytes),
      ];
    }),
  );
  return isLong ? element("details", {}, element("summary", {}, caption), list) : list;
};

// Memory of a small strided tensor, element by element: which coordinates lie there, and what lies between them.
const memoryPicture = (tensor, differences) => {
  const [extent, count] = [extentOf(tensor), productOf(tensor.sizes)];
  if (tensor.isPacked || extent > MEMORY_CELLS || count > MEMORY_CELLS || count < 1n) return [];
  const wrong = new Set(differences.map((d) => d.coordinates.join(",")));
  const cells = Array.from({ length: Number(extent) }, () => []);
  const coordinates = tensor.sizes.map(() => 0);
  for (let n = 0; n < Number(count); n++) {
    cells[Number(offsetOf(coordinates, tensor.strides))].push(coordinates.join(","));
    for (let i = coordinates.length - 1; i >= 0; i--) {
      if (++coordinates[i] < Number(tensor.sizes[i])) break;
      coordinates[i] = 0;
    }
  }
  const cell = (held) => {
    if (!held.length) return element("td", { class: "padding" }, "gap");
    const isWrong = held.some((at) => wrong.has(at));
    const text = held[0] + (held.length > 1 ? ` +${held.length - 1}` : "");
    return element("td", { class: isWrong ? "differs" : "same", title: held.slice(0, 8).join("; ") }, isWrong ? `≠ ${text}` : text);
  };
  const rows = [];
  for (let i = 0; i < cells.length; i += MEMORY_COLUMNS) {
    rows.push(element("tr", {}, element("th", { scope: "row" }, i), cells.slice(i, i + MEMORY_COLUMNS).map(cell)));
  }
  return [
    element(
      "details",
      {},
      element("summary", {}, `Memory of ${tensor.name}`),
      element("p", { class: "soft" }, "Each cell is an element of memory with the coordinates that lie there; gaps belong to no element."),
      element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Memory of ${tensor.name}` }, element("table", { class: "grid mono" }, element("tbody", {}, rows))),
    ),
  ];
};
