// Every element outside of a scrolling region whose content is wider than itself.
const isCut = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "auto";
const shown = [...document.querySelectorAll("body *:not(.unseen, svg, svg *)")].filter(
  (one) => one.checkVisibility() && one.clientWidth > 1 && !one.closest(".scroll, .frame, thead"),
);
return shown.filter(isCut).map((one) => one.outerHTML.slice(0, 120));
