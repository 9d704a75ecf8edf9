/// Hands text over in large pieces.
enum TextPieces {
    static let newline = UInt8(ascii: "\n")
    /// Text is gathered up to this size before it is handed over.
    static let pieceBytes = 1 << 17

    /// Calls `append` with each element, and `sink` with what it appended.
    static func write<Element, Failure: Error>(
        _ elements: some Sequence<Element>, to sink: ([UInt8]) throws(Failure) -> Void,
        _ append: (Element, inout [UInt8]) -> Void
    ) throws(Failure) {
        var piece: [UInt8] = []
        for element in elements {
            append(element, &piece)
            guard piece.count >= pieceBytes else { continue }
            try sink(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try sink(piece)
    }
}
