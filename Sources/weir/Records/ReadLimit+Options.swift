import Engine
import Program
import Streams

extension ReadLimit {
    /// Parses an offset in digits, or a time in any other form.
    init(_ text: String, option: String) throws(CommandError) {
        if let offset = Int64(text) {
            guard offset >= 0 else {
                throw .usage("\(option) \(text) is negative: write an offset from 0 on")
            }
            self = .offset(offset)
        } else {
            self = .time(try LogTime.milliseconds(text, option: option))
        }
    }

    /// A hint for a first offset beyond the end: the digits may have been meant as a time. Nil for other limits.
    func doubt(topic: String, endOffset: Int64) -> String? {
        guard case .offset(let offset) = self, offset > endOffset else { return nil }
        return
            "--from \(offset) means an offset, but \(topic) ends at offset \(endOffset). For a time, write "
            + "\(LogTime.forms)"
    }
}
