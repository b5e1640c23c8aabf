// Every element that a screen reader could not name, or a link that leads nowhere.
const all = (selector) => [...document.querySelectorAll(selector)];
const text = (one) => one?.textContent.trim();
const isNamed = (one) => one.getAttribute("aria-label")
  || text(document.getElementById(one.getAttribute("aria-labelledby")));
const lacks = [
  ...all("img").filter((one) => (one.alt || "").length < 20),
  ...all("[role=region], section, nav, svg").filter((one) => !isNamed(one)),
  ...all("table").filter((one) => !text(one.caption)),
  ...all("th").filter((one) => !one.scope || !text(one)),
  ...all("tbody tr").filter((one) => one.cells[0].scope !== "row"),
  ...all(".scroll").filter((one) => one.tabIndex !== 0),
  ...all("a").filter((one) => !document.querySelector(one.hash)),
];
return lacks.map((one) => one.outerHTML.slice(0, 120));
