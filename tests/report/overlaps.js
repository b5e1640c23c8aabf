// Every pair of blocks of the page that lie over each other.
const boxes = [...document.querySelectorAll("header, .verdict, nav, .sections > section, footer")].map(
  (one) => [one, one.getBoundingClientRect()],
);
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) => meet(a, b))
  .map(([two]) => `${one.tagName}.${one.className} over ${two.tagName}.${two.className}`));
