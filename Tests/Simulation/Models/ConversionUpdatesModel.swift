import TestKit
import Wording

/// What installs were told of their conversion values: `topics/conversion-updates.yaml`, and what
/// `docs/reference/conversion-models.md` says of its dump.
struct ConversionUpdatesModel: WindowedModel {
    typealias Meaning = EventMeaning<Event>

    static let stream = "conversion-updates"
    static let dumps = ["outcomes", "conversion-updates"]
    static let types = ["conversion.update"]
    static let windowMilliseconds: Int64 = 7 * 86_400_000

    var history = EventHistory<Event>()

    /// A value, as its place among all of its kind, and the version of the model that it was told under.
    struct Standing {
        var value: Int
        var model: String
    }

    /// What became of a value of one kind.
    struct Change {
        var told: Standing?
        var toldBefore: Standing?
        var reported: Standing?
        var reportedBefore: Standing?
    }

    struct Event: WindowedEvent {
        var update: String
        var install: String
        var app: Int64
        var framework: String
        var isReengagement: Bool
        /// Counts in the id of a re-engagement only.
        var tag: String?
        var window: Int
        var model: String
        var outcome: String
        var request: String
        var fine: Change?
        var coarse: Change?
        var locks: Bool
        var hasOtherCurrency: Bool
        var hasError: Bool

        var ids: [[String]] {
            let told = [fine?.told, coarse?.told].map { $0.map { "\($0.value)" } ?? "none" }
            return [
                ["conversion.update", "\(app)", install, update, framework, "\(window)"] + told
                    + ["\(locks)"] + (isReengagement ? ["re-engagement"] : [])
                    + (isReengagement ? [tag].compactMap(\.self) : [])
            ]
        }

        func add(fresh _: [Int], hour: String, to rows: inout ModelRows) {
            func count(
                _ measure: String, window: Int, _ model: String, _ kind: String, _ value: String
            ) {
                rows.add(
                    "conversion-updates",
                    [
                        hour, "\(app)", framework, isReengagement ? "re-engagement" : "install",
                        "\(window)", model, kind, value,
                    ], [measure: 1])
            }
            var ofRequest = ["updates"]
            switch outcome {
            case "locked": ofRequest.append("locked")
            case "ended", "stale": ofRequest.append("late")
            case "no_model": ofRequest.append("unmodelled")
            default: break
            }
            if hasOtherCurrency { ofRequest.append("other_currency") }
            if hasError { ofRequest.append("errors") }
            for measure in ofRequest { count(measure, window: window, model, "", "") }
            for (measure, standing) in counted(fine) {
                // A fine value is told in the first window only.
                count(measure, window: 0, standing.model, "fine", "\(standing.value)")
            }
            for (measure, standing) in counted(coarse) {
                count(
                    measure, window: window, standing.model, "coarse",
                    ConversionUpdatesModel.words[standing.value])
            }
        }

        private func counted(_ change: Change?) -> [(measure: String, Standing)] {
            guard let change else { return [] }
            var counted: [(measure: String, Standing)] = []
            if let told = change.told {
                if let before = change.toldBefore, before.value == told.value {
                    counted.append(("repeated", before))
                } else {
                    counted.append(("told", told))
                    if let before = change.toldBefore { counted.append(("told_replaced", before)) }
                }
            }
            if let reported = change.reported {
                let before = change.reportedBefore
                if reported.value > before?.value ?? -1 {
                    counted.append(("reported", reported))
                    if let before { counted.append(("reported_replaced", before)) }
                }
                if reported.value > change.toldBefore?.value ?? 0 {
                    counted.append(("reported_higher", reported))
                }
            }
            // A device that asks says what it has: nothing is the lowest value. What a server leaves out is no sign.
            let has = change.reported?.value ?? (request == "conversion_value" ? 0 : nil)
            if let before = change.toldBefore, let has, has < before.value {
                counted.append(("reported_lower", before))
            }
            return counted
        }
    }

    private static let words = ["low", "medium", "high"]
}

// MARK: - Generator

extension ConversionUpdatesModel {
    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event> {
        let window: Int? = writer.pick([0, 0, 0, 1, 2, nil])
        let windows: String? = writer.pick(["single", "three", nil])
        let framework: String? = writer.pick(["skadnetwork", "adattributionkit", nil])
        let conversion: String? = writer.pick(["install", "re-engagement", nil, nil])
        let tag: String? = writer.pick(["a", "A", nil, nil])
        let request: String? = writer.pick(["conversion_value", "launch", "event", nil])
        let model: String? = writer.pick(["v1", "V1", "v\u{301}", "", nil])
        let locks: Bool? = writer.pick([true, false, nil])
        let currencies: [String]? = writer.pick([["EUR"], ["EUR", "USD"], [], nil, nil])
        let error: Int64? = writer.pick([0, 10, -1, nil, nil])
        var event = Event(
            update: writer.pick(["u1", "u2", "u"]), install: id,
            app: writer.pick(DraftWriter.apps), framework: framework ?? "skadnetwork",
            isReengagement: conversion == "re-engagement", tag: tag,
            // Absent when the last one has ended: it is folded with the last.
            window: window ?? (windows == "three" ? 2 : 0), model: model ?? "",
            outcome: writer.pick([
                "told", "told", "unchanged", "locked", "ended", "no_model", "stale",
            ]),
            request: request ?? "conversion_value", locks: locks ?? false,
            hasOtherCurrency: currencies?.isEmpty == false, hasError: error ?? 0 != 0)
        let members = [
            writer.id("update_id", event.update), writer.id("install_id", id),
            writer.identifier("app_id", event.app, isRequired: true),
            optionalWord("framework", framework, &writer),
            optionalWord("windows", windows, &writer),
            optionalWord("request", request, &writer),
            optionalWord("conversion_type", conversion, &writer),
            writer.optionalText("conversion_tag", tag),
            writer.optionalInteger("sequence_index", window.map { Int64($0) }),
            writer.word("outcome", event.outcome), writer.optionalText("model", model),
            writer.optionalFlag("lock_window", locks), writer.optionalInteger("error", error),
            writer.unjudged(
                "uncounted_currencies",
                currencies.map { list in writer.list(list.map { writer.quoted($0) }) }),
            change("fine", &event.fine, &writer) {
                (Int($0 % 64), "\($0 % 64)")
            },
            change("coarse", &event.coarse, &writer) {
                (Int($0 % 3), "\"\(words[Int($0 % 3)])\"")
            },
            writer.unjudged("counted", "7"), writer.unjudged("reported_locks", "[0]"),
        ]
        return Draft(type: types[0], event: event, members: members)
    }

    private static func optionalWord(
        _ name: String, _ word: String?, _ writer: inout DraftWriter
    ) -> DraftWriter.Member? {
        guard let word else { return writer.unjudged(name, nil) }
        return writer.unjudged(name, writer.quoted(word))
    }

    /// - Parameter value: a value's place and its JSON, from a number.
    private static func change(
        _ name: String, _ change: inout Change?, _ writer: inout DraftWriter,
        _ value: (UInt64) -> (index: Int, json: String)
    ) -> DraftWriter.Member? {
        guard !writer.chance(3) else { return writer.unjudged(name, nil) }
        var made = Change()
        let member = writer.object(name) { writer in
            [
                standing("told", &made.told, &writer, value),
                standing("told_before", &made.toldBefore, &writer, value),
                standing("reported", &made.reported, &writer, value),
                standing("reported_before", &made.reportedBefore, &writer, value),
            ]
        }
        change = made
        return member
    }

    private static func standing(
        _ name: String, _ standing: inout Standing?, _ writer: inout DraftWriter,
        _ value: (UInt64) -> (index: Int, json: String)
    ) -> DraftWriter.Member? {
        guard !writer.chance(2) else { return writer.unjudged(name, nil) }
        // Few, and the ends of both kinds, so that they often agree.
        let (index, json) = value(writer.pick([0, 1, 1, 2, 62, 63]))
        let model: String? = writer.pick(["v1", "v2", nil])
        standing = Standing(value: index, model: model ?? "")
        return writer.object(name) { writer in
            [
                DraftWriter.Member(name: "value", json: json),
                writer.optionalText("model", model),
            ]
        }
    }
}
