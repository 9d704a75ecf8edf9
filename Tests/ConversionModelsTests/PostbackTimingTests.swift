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
}
