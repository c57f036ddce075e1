// What is shown, as the page's address tells it: #cases?operator=GATHER&verdict=differs&case=0123456789ab, or
// #operator?operator=GATHER.
const CASES = "#cases";
const OPERATOR = "#operator";

const readState = (view) => {
  const [named, query = ""] = location.hash.split("?");
  return named === view ? new Map(new URLSearchParams(query)) : null;
};

const addressOf = (view, state) => {
  const query = new URLSearchParams([...state].filter(([, value]) => value !== ""));
  return query.size ? `${view}?${query}` : view;
};
