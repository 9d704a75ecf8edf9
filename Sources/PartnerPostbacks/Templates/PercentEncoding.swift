/// Percent-encoding of RFC 3986.
enum PercentEncoding {
    /// A value in an address or a form: all but unreserved characters, so that it ends nothing that it
    /// stands in.
    static func value(_ text: String) -> String {
        encode(text) { isUnreserved($0) }
    }

    /// What a person wrote into an address: what may not stand in any is encoded, `%` stays.
    static func literal(_ text: String) -> String {
        encode(text) { isUnreserved($0) || "!$&'()*+,;=:@/?[]%".utf8.contains($0) }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func encode(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
