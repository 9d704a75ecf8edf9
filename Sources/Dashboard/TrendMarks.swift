import EventLog
import Program
import Reports
import Store
import Streams

/// An event on a day of a chart.
struct TrendMark: Equatable {
    let day: String
    let text: String
}

extension PageWriter {
    /// Changes of the conversion model of the shown app, and corrections of the stores.
    func trendMarks() -> [TrendMark] {
        func value(_ column: String) -> String? {
            (context.scope + context.chosen).first { $0.column == column }?.value
        }
        var marks: [TrendMark] = []
        let models = (try? source.installation.configuration.conversionModels()) ?? []
        if let app = value("app_id"), let model = models.first(where: { "\($0.app)" == app }) {
            // The first version is no change.
            marks += model.versions.dropFirst().map { version in
                TrendMark(
                    day: context.timeZone.day(
                        milliseconds: version.effectiveFromMilliseconds),
                    text: "conversion model \(version.id) takes effect for new installs")
            }
        }
        // Replays concern all campaigns.
        guard context.scope.isEmpty else { return marks }
        for directory in source.installation.directories {
            let promotions = (try? PromotionJournal(directory: directory))?.promotions ?? []
            marks += promotions.map { promotion in
                let streams = promotion.streams.keys.sorted().joined(separator: ", ")
                return TrendMark(
                    day: context.timeZone.day(milliseconds: promotion.atMilliseconds),
                    text: promotion.kind == .promote
                        ? "corrected numbers of \(streams) took effect"
                        : "numbers of \(streams) were rolled back")
            }
        }
        return marks
    }

    /// Runs of days on which a stream has no record. Costs are not reported daily.
    func outages(
        of days: [String], _ streams: [String], _ recordDays: RecordDays?
    ) -> [TrendMark] {
        guard let recordDays else { return [] }
        return streams.filter { $0 != CostsFold.streamName }.flatMap { stream in
            let silent = days.indices.filter { !recordDays.have(days[$0], [stream]) }
            return Chart.runs(of: silent).map { run in
                let end = PageContext.name(ofDay: days[run[run.count - 1]])
                return TrendMark(
                    day: days[run[0]],
                    text: run.count == 1
                        ? "no records of \(stream) on this day"
                        : "no records of \(stream) until \(end)")
            }
        }
    }

    /// The marks of a chart in words.
    mutating func writeMarks(_ marks: [TrendMark]) {
        guard !marks.isEmpty else { return }
        write { html in
            html.element("ul", ["class": "list marks"]) { html in
                for mark in marks {
                    html.element("li") { html in
                        html.element("b", text: PageContext.name(ofDay: mark.day))
                        html.text(": \(mark.text)")
                    }
                }
            }
        }
    }
}
