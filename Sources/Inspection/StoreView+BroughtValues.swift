import AggregateStore
import ConversionModels
import Streams

extension StoreView {
    /// Calls `body` with the conversion values that verified, winning postbacks brought, as rows of
    /// `conversion-updates`.
    ///
    /// The model is the version that decodes the value: that in effect 24 hours before the postback
    /// came. It is empty for an app without a model.
    func forEachBroughtValue(
        in copy: Copy, _ plan: DumpPlan, _ body: ([StoredValue], [Int64]) -> Void
    ) throws {
        let noted = plan.description.measures.map { _ in Int64(0) }.dropLast()
        var hours = HourColumn()
        try copy.forEachRow(of: Self.values) {
            _, columns, measures in
            guard case .text(let hourText) = columns[0], case .integer(let app) = columns[1],
                columns[6] == .integer(1), Self.verified.contains(columns[7])
            else { return }
            let hour = hours.hour(hourText)
            let values = Self.broughtValue(columns, hour, of: app, plan)
            guard plan.includes(values, timeMilliseconds: hour.milliseconds) else { return }
            body(values, noted + measures)
        }
    }

    /// Whether a row of `conversion-values`, given by the names of its columns, is asked for.
    static func includesBroughtValue(
        _ column: (String) -> StoredValue, _ plan: DumpPlan
    ) -> Bool {
        let columns = values.columns.map { column($0.name) }
        guard case .text(let hourText) = columns[0], case .integer(let app) = columns[1],
            columns[6] == .integer(1), verified.contains(columns[7])
        else { return false }
        var hours = HourColumn()
        let hour = hours.hour(hourText)
        return plan.includes(
            broughtValue(columns, hour, of: app, plan), timeMilliseconds: hour.milliseconds)
    }

    /// The columns of `conversion-updates` with the day behind the hour.
    private static func broughtValue(
        _ columns: [StoredValue], _ hour: (milliseconds: Int64, day: String), of app: Int64,
        _ plan: DumpPlan
    ) -> [StoredValue] {
        let model = model(plan.models[app], hourMilliseconds: hour.milliseconds)
        return [
            columns[0], .text(hour.day), columns[1], columns[2], columns[3], .text(model),
            columns[4], columns[5],
        ]
    }

    /// Versions begin at whole hours, so that all of an hour's postbacks have one.
    private static func model(_ model: ConversionModel?, hourMilliseconds: Int64) -> String {
        let latest = PostbackTiming.upTo3.settingInterval(received: hourMilliseconds).latest
        guard let model, let index = model.versionIndex(inEffectAtMilliseconds: latest) else {
            return ""
        }
        return model.versions[index].id
    }

    private static let verified: [StoredValue] = [.text("valid"), .text("development")]

    private static let values = ConversionValuesKey.table.selecting(
        [
            "hour", "app_id", "framework", "sequence_index", "kind", "value", "did_win", "verdict",
        ], measures: ["postbacks"])
}
