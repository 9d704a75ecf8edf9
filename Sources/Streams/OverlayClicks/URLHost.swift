/// The host of a URL (RFC 3986, section 3.2.2): behind the user's name, before the port.
///
/// Where programs disagree about the host there is none: a backslash, a blank or a control character
/// before the path, and a port that is no number.
struct URLHost {
    private let name: UnsafeRawBufferPointer

    /// Finds the host; nil when the URL names none, as one without `//` does.
    init?(_ url: UnsafeRawBufferPointer) {
        guard let start = Self.authorityStart(url) else { return nil }
        var end = start
        var nameStart = start
        var portStart: Int?
        while end < url.count, !Self.endsAuthority(url[end]) {
            guard url[end] > 0x20, url[end] != 0x7F, url[end] != UInt8(ascii: "\\") else {
                return nil
            }
            if url[end] == UInt8(ascii: "@") {
                nameStart = end + 1
                portStart = nil
            } else if url[end] == UInt8(ascii: ":"), portStart == nil {
                portStart = end
            }
            end += 1
        }
        if let portStart {
            let port = UnsafeRawBufferPointer(rebasing: url[(portStart + 1)..<end])
            if !port.isEmpty, case .notDigits = Digits(port) { return nil }
        }
        name = UnsafeRawBufferPointer(rebasing: url[nameStart..<(portStart ?? end)])
        if name.isEmpty { return nil }
    }

    /// True when the host has this name, in letters of either case.
    func `is`(_ name: StaticString) -> Bool { self.name.equalsIgnoringCase(name) }

    /// The place behind `//`, which a scheme and a colon may come before.
    private static func authorityStart(_ url: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < url.count, isSchemeCharacter(url[position], first: position == 0) {
            position += 1
        }
        if position > 0 {
            guard position < url.count, url[position] == UInt8(ascii: ":") else { return nil }
            position += 1
        }
        guard position + 1 < url.count, url[position] == UInt8(ascii: "/"),
            url[position + 1] == UInt8(ascii: "/")
        else { return nil }
        return position + 2
    }

    private static func isSchemeCharacter(_ byte: UInt8, first: Bool) -> Bool {
        let lower = byte | 0x20
        if lower >= UInt8(ascii: "a"), lower <= UInt8(ascii: "z") { return true }
        if first { return false }
        return (0x30...0x39).contains(byte) || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
