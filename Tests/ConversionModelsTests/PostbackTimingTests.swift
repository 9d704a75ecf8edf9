import Testing

@testable import ConversionModels

@Suite("When a value was set, and when the app was first launched")
struct PostbackTimingTests {
    private let hour: Int64 = 3_600_000
    private let day: Int64 = 86_400_000
    private let received: Int64 = 1_790_000_000_123

    @Test("a value was set from 24 h back to 48 h, 48 h + 2 d, 144 h + 5 d or 144 h + 28 d back")
    func settingInterval() {
        let back: [(PostbackTiming, Int64)] = [
            (.upTo3, 48 * hour), (.window0, 48 * hour + 2 * day),
            (.window1, 144 * hour + 5 * day), (.window2, 144 * hour + 28 * day),
        ]
        for (timing, earliest) in back {
            let interval = timing.settingInterval(received: received)
            #expect(interval.earliest == received - earliest)
            #expect(interval.latest == received - 24 * hour)
        }
    }

    private func window(
        _ timing: PostbackTiming, zero: Bool = false, reEngagement: Bool = false,
        development: Bool = false
    ) -> InstallWindow {
        timing.installWindow(
            received: received, fineIsZero: zero, reEngagement: reEngagement,
            development: development)
    }

    @Test("up to 3.0 the launch has an earliest instant only when the value is 0")
    func installUpTo3() {
        let latest = received - 24 * hour
        #expect(
            window(.upTo3, zero: true)
                == InstallWindow(earliest: received - 48 * hour, latest: latest))
        #expect(window(.upTo3) == InstallWindow(earliest: nil, latest: latest))
    }

    @Test("from 4.0 on the launch lies in the window's span, whatever the value")
    func installWindows() {
        let spans: [(PostbackTiming, Int64, Int64)] = [
            (.window0, 96 * hour, 24 * hour), (.window1, 144 * hour + 7 * day, 24 * hour + 2 * day),
            (.window2, 144 * hour + 35 * day, 24 * hour + 7 * day),
        ]
        for (timing, earliest, latest) in spans {
            for zero in [false, true] {
                #expect(
                    window(timing, zero: zero)
                        == InstallWindow(earliest: received - earliest, latest: received - latest))
            }
        }
    }

    @Test("nothing is known about re-engagements and development postbacks")
    func nothingKnown() {
        let nothing = InstallWindow(earliest: nil, latest: nil)
        for timing in PostbackTiming.allCases {
            #expect(window(timing, zero: true, reEngagement: true) == nothing)
            #expect(window(timing, zero: true, development: true) == nothing)
        }
    }

    @Test("sequence indexes name the windows, and others none")
    func windows() {
        #expect(
            (-1...3).map { PostbackTiming.window($0) } == [nil, .window0, .window1, .window2, nil])
    }

    @Test("instants at the end of 64 bits stay there")
    func saturation() {
        for timing in PostbackTiming.allCases {
            let interval = timing.settingInterval(received: .min)
            #expect(interval.earliest == .min && interval.latest == .min)
        }
    }

    private func version(
        _ id: String, from: Int64, locks: [Int: Int] = [:]
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: id, effectiveFromMilliseconds: from, currency: "USD", fields: [], lockHours: locks)
    }

    @Test("the likely install is the middle of the interval in which Apple sends the postback")
    func likelyInstalls() throws {
        let locked = try ConversionModel(
            app: 1, versions: [version("a", from: 0, locks: [0: 1, 1: 167, 2: 24])])
        for (timing, open, lock) in [
            (.upTo3, 36, 36), (.window0, 84, 37), (.window1, 252, 251), (.window2, 924, 108),
        ] as [(PostbackTiming, Int64, Int64)] {
            #expect(timing.likelyInstall(received: received, model: nil) == received - open * hour)
            #expect(
                timing.likelyInstall(received: received, model: locked) == received - lock * hour)
        }
        #expect(PostbackTiming.window2.likelyInstall(received: .min, model: nil) == .min)
    }

    @Test("no postback gets a likely install on a day from the end of its cohort on")
    func cohortEnds() throws {
        let midnight = 20_000 * day
        #expect(
            PostbackTiming.allCases.map {
                ($0.cohortEnd(midnight: midnight, model: nil) - midnight) / hour
            } == [60, 108, 276, 948])
        for (before, after) in [(nil, 24), (24, nil), (24, 12), (nil, nil)] as [(Int?, Int?)] {
            for change in stride(
                from: midnight - 2 * day, through: midnight + 6 * day, by: 7 * 3_600_000)
            {
                let model = try ConversionModel(
                    app: 1,
                    versions: [
                        version("a", from: 0, locks: before.map { [0: $0] } ?? [:]),
                        version("b", from: change, locks: after.map { [0: $0] } ?? [:]),
                    ])
                // Each hour of arrival that counts on the day.
                let hours = stride(from: midnight, to: midnight + 10 * day, by: 3_600_000).filter {
                    let install = PostbackTiming.window0.likelyInstall(received: $0, model: model)
                    return (midnight..<midnight + day).contains(install)
                }
                let end = PostbackTiming.window0.cohortEnd(midnight: midnight, model: model)
                if let last = hours.last {
                    #expect(end == last + hour, "\(before ?? 48), then \(after ?? 48) at \(change)")
                } else {
                    #expect(end == midnight + day)
                }
            }
        }
    }
}
