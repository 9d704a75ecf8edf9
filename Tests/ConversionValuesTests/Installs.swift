import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import Streams
import Synchronization
import TestKit

@testable import ConversionValues

/// The configuration that Weir ships, with three sample models.
enum Shipped {
    static func models() throws -> [ConversionModel] { try loaded.get() }

    private static let loaded = Result {
        try PipelineDirectory(Repository.path("pipelines")).conversionModels()
    }
    private static let shippedApps = loaded.map {
        ConversionApps(
            models: $0, appsByBundle: ["com.example.rides": rides, "com.example.other": 5])
    }

    static func apps() throws -> ConversionApps { try shippedApps.get() }

    static let rides: Int64 = 525_463_029
    static let puzzle: Int64 = 1_176_027_022
    static let meals: Int64 = 1_434_505_322
}

/// Milliseconds of 2026-11-21T12:00:00Z and of what tests count in.
enum Time {
    static let noon: Int64 = 1_795_262_400_000
    static let hour: Int64 = 3_600_000
    static let day = 24 * hour
}

/// An install that asks, as clients of the guide or of SKAdNetwork 4 do; what it is told it remembers
/// only when it is let.
struct Device {
    var installID = "5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21"
    var app = Shipped.rides
    var firstCall = Time.noon
    var lastCall: Int64? = Time.noon
    var fine: Int?
    var coarse: [CoarseValue?] = [nil, nil, nil]
    var locks = [false, false, false]
    var totals: [String: Double] = [:]
    var hasThreeWindows = false
    var state: InstallState?
    var updates: [ConversionUpdate] = []

    func parameters(_ event: String?, _ more: [String: String] = [:]) -> ConversionParameters {
        var values = [
            "app_id": "\(app)", "idfv": installID, "p": "iOS", "idfa": "ad-id",
            "conversion_value": fine.map { "\($0)" } ?? "",
            "total_revenue_by_currency": Self.json(totals),
            "first_call_to_skadnetwork_timestamp": "\(firstCall / 1000)",
            "last_call_to_skadnetwork_timestamp": lastCall.map { "\($0 / 1000)" } ?? "",
        ]
        if let event { values["n"] = event }
        if hasThreeWindows {
            for index in 0...2 {
                values["p\(index)_coarse"] = coarse[index].map { "\($0.rank)" } ?? ""
                values["p\(index)_window_lock"] = "\(locks[index])"
            }
        }
        values.merge(more) { $1 }
        return ConversionParameters(values.map { (name: $0.key, value: $0.value) })
    }

    static func json(_ totals: [String: Double]) -> String {
        "{" + totals.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    func request(
        _ event: String?, _ kind: ConversionRequest.Kind = .conversionValue,
        _ more: [String: String] = [:], at now: Int64
    ) throws -> ConversionRequest {
        try ConversionRequest(
            kind, parameters(event, more), apps: Shipped.apps(), nowMilliseconds: now)
    }

    /// Asks, and does not set what it is told.
    mutating func ask(
        _ event: String? = nil, _ kind: ConversionRequest.Kind = .conversionValue,
        _ more: [String: String] = [:], at now: Int64
    ) throws -> ConversionAnswer {
        let app = app
        let model = try Shipped.models().first { $0.app == app }
        let (answer, update) = ConversionEngine.answer(
            try request(event, kind, more, at: now), state: state, model: model,
            nowMilliseconds: now)
        state = InstallState.after(update, state)
        updates.append(update)
        return answer
    }

    /// Sets what it was told, as a client does.
    mutating func set(_ answer: ConversionAnswer, at now: Int64) {
        guard let told = answer.fine else { return }
        if told > fine ?? -1 { fine = told }
        lastCall = now
        let index = ConversionWindows.three.index(at: now, firstCall: firstCall, lastCall: nil)
        guard hasThreeWindows, let index else { return }
        if let told = answer.coarse { coarse[index] = max(coarse[index] ?? told, told) }
        if answer.locksWindow == true { locks[index] = true }
    }
}

final class Warnings: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
