/// Compares a picture of a page with a stored one, in the browser that made it.
///
/// Both are grey and a quarter of the size: enough to see a moved column or another number, and not the edges of letters,
/// which differ between versions of fonts and browsers.
package struct PictureComparison {
    package struct Result {
        /// The picture as it is stored: a PNG in Base64.
        package let stored: String
        /// How many of its pixels differ; nil without a stored picture.
        package let changed: Int?
        /// The place of the differences in CSS pixels: left, top, right and bottom.
        package let place: [Int]
        /// The whole picture with a frame around the differences, as a PNG in Base64.
        package let marked: String
    }

    private let tab: BrowserTab

    package init(_ browser: Browser) throws {
        tab = try BrowserTab(browser)
        try tab.evaluate(Self.script)
    }

    /// - Parameters:
    ///   - new: a picture in Base64.
    ///   - old: the stored picture in Base64; nil if there is none yet.
    package func compare(_ new: String, with old: String?) throws -> Result {
        let answer = try tab.evaluate("compare('\(new)', \(old.map { "'\($0)'" } ?? "null"))")
        guard let answer = answer as? [String: Any], let stored = answer["stored"] as? String else {
            throw TestFault("the pictures cannot be compared: \(answer ?? "no answer")")
        }
        return Result(
            stored: stored, changed: answer["changed"] as? Int,
            place: answer["place"] as? [Int] ?? [], marked: answer["marked"] as? String ?? "")
    }

    private static let script = #"""
        const scale = 4, levels = 16, leastDifference = 3;
        async function bitmap(base64) {
          const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
          return createImageBitmap(new Blob([bytes], { type: "image/png" }));
        }
        function canvas(width, height) {
          const made = new OffscreenCanvas(width, height).getContext("2d", { alpha: false, willReadFrequently: true });
          made.imageSmoothingQuality = "high";
          return made;
        }
        async function base64(context) {
          const bytes = new Uint8Array(await (await context.canvas.convertToBlob()).arrayBuffer());
          let text = "";
          for (let start = 0; start < bytes.length; start += 8192) {
            text += String.fromCharCode(...bytes.subarray(start, start + 8192));
          }
          return btoa(text);
        }
        // The grey levels of a picture, from 0 to 15.
        function greys(context) {
          const { width, height } = context.canvas;
          const { data } = context.getImageData(0, 0, width, height);
          return Uint8Array.from({ length: width * height }, (_, index) => {
            const [red, green, blue] = data.subarray(4 * index);
            return Math.round((0.3 * red + 0.59 * green + 0.11 * blue) / 255 * (levels - 1));
          });
        }
        async function compare(newBase64, oldBase64) {
          const picture = await bitmap(newBase64);
          const [width, height] = [Math.ceil(picture.width / scale), Math.ceil(picture.height / scale)];
          const small = canvas(width, height);
          small.drawImage(picture, 0, 0, width, height);
          const now = greys(small);
          const image = small.createImageData(width, height);
          now.forEach((level, index) => {
            image.data.fill(Math.round(level * 255 / (levels - 1)), 4 * index, 4 * index + 3);
            image.data[4 * index + 3] = 255;
          });
          small.putImageData(image, 0, 0);
          const result = { stored: await base64(small) };
          if (!oldBase64) return result;
          const stored = await bitmap(oldBase64);
          const before = canvas(stored.width, stored.height);
          before.drawImage(stored, 0, 0);
          const old = greys(before);
          let changed = 0, [left, top, right, bottom] = [Infinity, Infinity, 0, 0];
          for (let y = 0; y < Math.max(height, stored.height); y += 1) {
            for (let x = 0; x < Math.max(width, stored.width); x += 1) {
              const isIn = (w, h) => x < w && y < h;
              const isSame = isIn(width, height) && isIn(stored.width, stored.height)
                && Math.abs(now[y * width + x] - old[y * stored.width + x]) < leastDifference;
              if (isSame) continue;
              changed += 1;
              [left, top] = [Math.min(left, x), Math.min(top, y)];
              [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
            }
          }
          result.changed = changed;
          if (changed === 0) return result;
          result.place = [left, top, right, bottom].map((edge) => edge * scale);
          const whole = canvas(Math.max(picture.width, right * scale), Math.max(picture.height, bottom * scale));
          whole.drawImage(picture, 0, 0);
          whole.strokeStyle = "red";
          whole.lineWidth = 4;
          whole.strokeRect(left * scale, top * scale, (right - left) * scale, (bottom - top) * scale);
          result.marked = await base64(whole);
          return result;
        }
        """#
}
