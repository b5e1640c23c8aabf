// Every text with less contrast to its background than people need, as [text, ratio] (WCAG 2.2, 1.4.3).
const channels = (colour) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
};
const over = (top, ground) => [0, 1, 2].map((i) => top[i] * top[3] + ground[i] * (1 - top[3]));
const luminance = (colour) => {
  const [red, green, blue] = colour.slice(0, 3).map((v) => {
    const share = v / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const ground = (element) => {
  const layers = [];
  for (let one = element; one; one = one.parentElement) layers.unshift(channels(getComputedStyle(one).backgroundColor));
  return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = [];
let count = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !element.checkVisibility() || element.closest("script, style")) continue;
  count += 1;
  const look = getComputedStyle(element);
  const below = ground(element);
  const [light, dark] = [luminance(over(channels(look.color), below)), luminance(below)].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05);
  const size = parseFloat(look.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(look.fontWeight) >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) found.push([text.slice(0, 60), ratio]);
}
return { count, found };
