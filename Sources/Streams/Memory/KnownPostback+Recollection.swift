import ConversionModels

extension KnownPostback {
    /// The copy as the answer to a record: what the record is held against and, where it is accepted,
    /// what was published of the postback before.
    func answers(withPublished: Bool) -> [UInt8] {
        var writer = AnswerWriter()
        writer.add(rank)
        writer.add(offset)
        writer.add(optional: values.fineValue.map(Int64.init))
        writer.add(values.coarseValue?.rawValue ?? "")
        writer.add(values.country)
        writer.add(values.interaction)
        let partners = withPublished ? published.keys.sorted() : []
        writer.add(partners.count)
        for partner in partners {
            writer.add(partner)
            writer.add(published[partner] ?? 0)
        }
        return writer.bytes
    }

    /// Reads what `answers` wrote; nil for what is no such thing.
    package init?(answers: [UInt8]) {
        var reader = AnswerReader(answers)
        guard let rank = reader.number(), let offset = reader.number(),
            let fine = reader.optionalNumber(), let coarse = reader.text(),
            let country = reader.text(), let interaction = reader.text(),
            let count = reader.number(), count >= 0
        else { return nil }
        var published: [String: Int64] = [:]
        for _ in 0..<count {
            guard let partner = reader.text(), let revision = reader.number() else { return nil }
            published[partner] = revision
        }
        self.init(
            rank: Int(truncatingIfNeeded: rank), offset: offset,
            values: UnsignedValues(
                fineValue: fine.map { Int(truncatingIfNeeded: $0) },
                coarseValue: CoarseValue(rawValue: coarse), country: country,
                interaction: interaction),
            published: published)
    }
}
