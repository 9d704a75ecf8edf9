import ConversionModels

/// What a postback carries that Apple does not sign: copies that differ here are in conflict.
package struct UnsignedValues: Equatable, Sendable {
    /// 0 to 63; nil when absent.
    package var fineValue: Int?
    /// low, medium or high; nil when absent.
    package var coarseValue: CoarseValue?
    /// Empty when absent.
    package var country: String
    /// AdAttributionKit's `view` or `click`; empty when absent, and for SKAdNetwork, which signs it.
    package var interaction: String

    /// Takes the values.
    package init(
        fineValue: Int?, coarseValue: CoarseValue?, country: String, interaction: String
    ) {
        self.fineValue = fineValue
        self.coarseValue = coarseValue
        self.country = country
        self.interaction = interaction
    }

    /// Texts are equal when their bytes are.
    package static func == (left: UnsignedValues, right: UnsignedValues) -> Bool {
        left.fineValue == right.fineValue && left.coarseValue == right.coarseValue
            && left.country.utf8.elementsEqual(right.country.utf8)
            && left.interaction.utf8.elementsEqual(right.interaction.utf8)
    }
}

/// The best copy of a postback that was accepted so far.
package struct KnownPostback: Equatable, Sendable {
    /// Its verdict's rank.
    package var rank: Int
    /// Where it lies.
    package var offset: Int64
    /// What it carries unsigned.
    package var values: UnsignedValues
    /// The partners that the postback was published to, with the last revision.
    package var published: [String: Int64]

    /// Describes a copy.
    package init(rank: Int, offset: Int64, values: UnsignedValues, published: [String: Int64]) {
        self.rank = rank
        self.offset = offset
        self.values = values
        self.published = published
    }
}

/// Every postback ever accepted, as the store knows it.
package protocol PostbackMemory: AnyObject {
    /// The best copy of a postback that was stored; nil when there is none.
    func known(_ id: RecordID, partition: Int32) throws -> KnownPostback?
}
