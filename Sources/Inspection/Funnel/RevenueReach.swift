import AggregateStore
import ConversionModels

/// What the revenue of some postbacks can be at most and at least, and what an estimate of it rests on.
struct RevenueReach {
    /// Postbacks whose values can be set against each other: those of one kind of window.
    struct Window {
        /// All of them.
        private(set) var postbacks = Int128(0)
        /// Those of a value that its model speaks of.
        private(set) var valued = Int128(0)
        /// Twice the sum of the middles of what those stand for, by currency.
        private(set) var doubledMiddleMicros: [StoredValue: Int128] = [:]

        fileprivate mutating func add(_ count: Int128, saying decoding: ModelDecoding?) {
            postbacks += count
            guard let decoding else { return }
            valued += count
            let middle = decoding.events.reduce(Int128(0)) { sum, event in
                sum + Int128(event.revenueMinMicros) + Int128(event.revenueMaxMicros)
            }
            doubledMiddleMicros[.text(decoding.currency), default: 0] += middle * count
        }
    }

    /// The least revenue, by currency.
    private(set) var minMicros: [StoredValue: Int128] = [:]
    /// The most revenue of those that have a bound, by currency.
    private(set) var maxMicros: [StoredValue: Int128] = [:]
    /// How many postbacks have no bound: no model of their app was in effect.
    private(set) var unboundedPostbacks = Int128(0)
    /// The postbacks that an estimate can be made of, by the kind of window.
    private(set) var windows: [PostbackTiming: Window] = [:]

    /// Adds postbacks of one value, or of none.
    ///
    /// - Parameters:
    ///   - model: that of their app; nil when it has none.
    ///   - received: the hour of their arrival, in milliseconds since 1970.
    mutating func add(
        _ count: Int128, _ model: ConversionModel?, received: Int64, timing: PostbackTiming,
        fine: Int?, coarse: CoarseValue?, sequenceIndex: Int
    ) {
        guard count != 0 else { return }
        guard let model,
            let bounds = model.revenueBounds(
                received: received, timing: timing, fine: fine, coarse: coarse,
                sequenceIndex: sequenceIndex)
        else {
            unboundedPostbacks += count
            return
        }
        for (currency, amounts) in bounds {
            minMicros[.text(currency), default: 0] += amounts.minMicros * count
            maxMicros[.text(currency), default: 0] += amounts.maxMicros * count
        }
        let decoding = model.decoding(
            received: received, timing: timing, fine: fine, coarse: coarse,
            sequenceIndex: sequenceIndex)
        let speaks =
            decoding.map { decoding in
                model.versions[decoding.versionIndex].speaks(
                    fine: fine, coarse: coarse, sequenceIndex: sequenceIndex)
            } ?? false
        windows[timing, default: Window()].add(count, saying: speaks ? decoding : nil)
    }

    /// The revenue there would be if postbacks without a value were like those with one that came of
    /// the same kind of window: middles of what values stand for, scaled. Fractions of a micro are cut
    /// off.
    ///
    /// Nil when nothing says how large it is: some postbacks have no model, or no postback of a kind
    /// of window brought a value.
    var estimatedMicros: [StoredValue: Int128]? {
        guard unboundedPostbacks == 0 else { return nil }
        var estimate: [StoredValue: Int128] = [:]
        for window in windows.values {
            guard window.valued > 0 else { return nil }
            for (currency, doubled) in window.doubledMiddleMicros {
                estimate[currency, default: 0] += doubled * window.postbacks / (2 * window.valued)
            }
        }
        return estimate
    }

    /// How many postbacks brought a value that a model speaks of.
    var valuedPostbacks: Int128 { windows.values.reduce(0) { $0 + $1.valued } }
}
