// What is folded becomes part of the page when it is opened; until then it is the text of a noscript element.
const parsed = (folded) => new DOMParser().parseFromString(folded.textContent, "text/html").body;

const unfold = (details) => {
  const folded = details.querySelector(":scope > noscript");
  if (!folded) return;
  const content = document.createDocumentFragment();
  content.append(...parsed(folded).childNodes);
  offerCopies(content);
  offerSorting(content);
  folded.replaceWith(content);
};
document.addEventListener("toggle", (event) => event.target.open && unfold(event.target), true);
