// What is shown, as the page's address tells it: #cases?operator=GATHER&verdict=differs&case=0123456789ab
const VIEW = "#cases";

const readState = () => {
  const [view, query = ""] = location.hash.split("?");
  return view === VIEW ? new Map(new URLSearchParams(query)) : null;
};

const addressOf = (state) => {
  const query = new URLSearchParams([...state].filter(([, value]) => value !== ""));
  return query.size ? `${VIEW}?${query}` : VIEW;
};
