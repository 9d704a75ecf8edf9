import Reports

/// Writes HTML. Names of elements and attributes come from the source code. All other text is escaped, so that records,
/// names and addresses cannot change the structure of the page.
struct HTML {
    typealias Attributes = KeyValuePairs<StaticString, String?>

    private(set) var bytes: [UInt8] = []

    static let elementsWithoutEnd: [String] = ["br", "input", "link", "meta"]

    /// Text for display: control and invisible characters are shown as escapes.
    mutating func text(_ text: String) { append(text.escaped) }

    /// JSON for display and for copying: such characters are JSON escapes, so a parser reads the same values.
    mutating func json(_ json: String) { append(json.withoutControlsInJSON) }

    /// Writes an element. Attributes without a value are left out; an empty value is written.
    mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:],
        _ body: (inout HTML) throws -> Void
    ) rethrows {
        begin(name, attributes)
        try body(&self)
        guard !Self.elementsWithoutEnd.contains("\(name)") else { return }
        raw("</")
        raw(name)
        raw(">")
    }

    mutating func element(_ name: StaticString, _ attributes: Attributes = [:]) {
        element(name, attributes) { _ in }
    }

    mutating func element(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    mutating func link(_ text: String, to address: PageAddress, class name: String? = nil) {
        element("a", ["href": address.text, "class": name], text: text)
    }

    /// Begins a document without closing its element, because the rest may not be known yet.
    mutating func beginDocument() { raw("<!doctype html><html lang=\"en\">") }

    /// Begins the content of a page, after a header.
    mutating func beginContent(_ header: HTML) {
        raw("<body>")
        append(header)
        raw("<main id=\"content\">")
    }

    /// Ends the content and the document.
    mutating func endContent(_ footer: HTML) {
        raw("</main>")
        append(footer)
        raw("</body></html>")
    }

    mutating func append(_ other: HTML) { bytes += other.bytes }

    private mutating func begin(_ name: StaticString, _ attributes: Attributes) {
        raw("<")
        raw(name)
        for (name, value) in attributes {
            guard let value else { continue }
            raw(" ")
            raw(name)
            raw("=\"")
            append(value)
            raw("\"")
        }
        raw(">")
    }

    private mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func append(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): raw("&amp;")
            case UInt8(ascii: "<"): raw("&lt;")
            case UInt8(ascii: ">"): raw("&gt;")
            case UInt8(ascii: "\""): raw("&quot;")
            case UInt8(ascii: "'"): raw("&#39;")
            default: bytes.append(byte)
            }
        }
    }
}

/// The address of a page within the dashboard: a path, and ordered parameters.
struct PageAddress: Equatable {
    var path: String
    var parameters: [(name: String, value: String)]
    /// The id of a section; empty for the whole page.
    private var section = ""

    init(_ path: String, _ parameters: [(name: String, value: String)] = []) {
        self.path = path
        self.parameters = parameters
    }

    var text: String {
        let query = parameters.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        let page = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        return section.isEmpty ? page : "\(page)#\(section)"
    }

    /// A section of the page.
    func at(_ section: String) -> PageAddress {
        var address = self
        address.section = section
        return address
    }

    static func == (left: PageAddress, right: PageAddress) -> Bool { left.text == right.text }

    /// Percent-encoding according to RFC 3986: all but unreserved characters.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            let isUnreserved =
                byte < 0x80 && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                || "-._~".unicodeScalars.contains(scalar)
            encoded += isUnreserved ? String(scalar) : "%" + Self.hex(byte)
        }
        return encoded
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return digits.count == 1 ? "0\(digits)" : digits
    }
}
