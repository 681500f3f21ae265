/** Drawing on a canvas. */

/**
 * A custom property of the stylesheet.
 * @param {Element} element
 * @param {string} name
 */
export function styleValue(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/**
 * Clears a canvas and sizes it in device pixels to its displayed size. The context draws in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function resized(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
    [canvas.width, canvas.height] = [deviceWidth, deviceHeight];
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
