import ConversionModels
import Pipelines
import Streams

/// The kinds of postbacks that Apple sends for an ad, by how their windows run.
struct PostbackKinds: OptionSet {
    let rawValue: UInt8

    /// SKAdNetwork up to 3.0: one postback.
    static let upTo3 = PostbackKinds(rawValue: 1)
    /// SKAdNetwork from 4.0 on, and AdAttributionKit: three windows.
    static let from4 = PostbackKinds(rawValue: 2)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Empty when the kind of id does not tell.
    init(_ kind: CampaignIDKind) {
        switch kind {
        case .campaignID: self = .upTo3
        case .sourceIdentifier: self = .from4
        case .either: self = []
        }
    }

    /// The windows; of those that nothing is known of, those of today's devices.
    private var windows: [PostbackTiming] {
        (contains(.upTo3) ? [.upTo3] : [])
            + (contains(.from4) || isEmpty ? [.window0, .window1, .window2] : [])
    }

    /// How many windows of these days there are, and in how many of them no first delivery can
    /// arrive any more.
    static func windows(
        of kindsByDay: [String: PostbackKinds], closedAt watermarkMilliseconds: Int64
    ) -> (all: Int128, closed: Int128) {
        var all: Int128 = 0
        var closed: Int128 = 0
        for (day, kinds) in kindsByDay {
            guard let midnight = UTC.milliseconds(text: day) else { continue }
            let dayEnd = midnight + dayMilliseconds
            for window in kinds.windows {
                all += 1
                if watermarkMilliseconds >= dayEnd + window.closingMilliseconds { closed += 1 }
            }
        }
        return (all, closed)
    }

    /// From when on no postback for installs of these days can arrive any more, late and repeated
    /// deliveries included, in milliseconds since 1970; nil without days.
    static func finalAfterMilliseconds(of kindsByDay: [String: PostbackKinds]) -> Int64? {
        kindsByDay.compactMap { day, kinds -> Int64? in
            guard let midnight = UTC.milliseconds(text: day) else { return nil }
            let longest = kinds.windows.map(\.longestMilliseconds).max() ?? 0
            return midnight + dayMilliseconds + longest
        }.max()
    }

    private static let dayMilliseconds = 24 * Hour.milliseconds
}

extension PostbackTiming {
    /// How its values and installs are timed, by the version of the framework.
    init(_ kind: CampaignIDKind, sequenceIndex: Int64) {
        self =
            kind == .campaignID
            ? .upTo3 : PostbackTiming.window(Int(truncatingIfNeeded: sequenceIndex)) ?? .window0
    }

    /// How long after an install its postback can arrive, on first delivery and without restarts of
    /// the timer.
    var closingMilliseconds: Int64 {
        let window = installWindow(
            received: 0, fineIsZero: true, reEngagement: false, development: false)
        return -(window.earliest ?? 0)
    }

    /// How long after an install its postback can arrive at all: devices try for nine days to deliver
    /// it, and up to 3.0 each of 63 rises of the value may restart the timer of 24 hours.
    var longestMilliseconds: Int64 {
        let days: Int64 = self == .upTo3 ? 63 + 9 : 9
        return closingMilliseconds + days * 24 * Hour.milliseconds
    }
}
