// The cases, once they are unpacked: their list, the search, the view of one operator.
const start = async () => {
  const section = document.getElementById("cases");
  if (!section) return;
  const place = section.querySelector("#cases-place");
  try {
    const [rows, flags] = document.getElementById("cases-rows").textContent.trim().split("\n");
    const blocks = document.getElementById("cases-whole").textContent.trim().split("\n");
    const cases = await Cases.read(rows, flags, blocks);
    place.replaceChildren();
    offerSearch(cases, document.querySelector("header .kind"));
    offerOperators(cases, document.getElementById("operator"));
    new Explorer(cases, section);
  } catch (error) {
    place.textContent = `The cases cannot be shown: ${error.message}. A browser of 2023 or later is needed.`;
    console.error(error);
  }
};
void start();
