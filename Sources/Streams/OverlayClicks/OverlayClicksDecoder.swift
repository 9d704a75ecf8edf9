import JSON

/// Decodes the records of the topic `overlay-clicks`. One decoder serves all records: it keeps the memory that
/// ids are built in.
struct OverlayClicksDecoder: ~Copyable {
    private var idBuilder = RecordIDBuilder()

    /// Decodes a record; its id comes out beside it. Throws why it is rejected.
    mutating func decode(
        _ value: JSONValue, _ kind: OverlayClicksEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (OverlayClicksEvent, RecordID) {
        idBuilder.begin()
        idBuilder.add(kind.name)
        switch kind {
        case .overlayClick:
            let decoded = try OverlayClickDecoder.decode(value, symbols: &symbols)
            switch decoded.identity {
            case .click(let id): idBuilder.add(id)
            case .impression(let id, let initiatedBy):
                idBuilder.add(id)
                idBuilder.add(initiatedBy)
            }
            return (decoded.click, idBuilder.finish())
        case .outbrainClick:
            let decoded = try OutbrainClickDecoder.decode(value, symbols: &symbols)
            idBuilder.add(decoded.identity.requestID)
            idBuilder.add(decoded.identity.position)
            return (decoded.click, idBuilder.finish())
        case .inAppClick:
            let decoded = try InAppClickDecoder.decode(value, symbols: &symbols)
            idBuilder.add(decoded.impressionID)
            return (decoded.click, idBuilder.finish())
        }
    }
}
