/// Row of `overlay-clicks`.
package struct OverlayClicksKey: RowKey {
    var ad: AdPlace

    package enum Measure: Int, AggregateMeasure {
        case clicks, userClicks, paidClicks, organicClicks, alteredUrls
        case automaticClicks, early, notPresented, unsupportedSdk, untracked, test
    }

    package static let columns: KeyColumns<Self> = [.group(\.ad, AdPlace.columns)]
    package static let table = AggregateTable(
        "overlay-clicks", "Clicks, and what looked like one, by format, placement and campaign.",
        columns, measures: Measure.self,
        notes: [
            .userClicks: "of the clicks: on overlays and in-app bidders' ads",
            .paidClicks: "of the clicks: on paid recommendations",
            .organicClicks: "of the clicks: on other recommendations",
            .alteredUrls: "of the paid clicks: leading elsewhere than to Outbrain",
            .automaticClicks: "by the SDK itself",
            .early: "before anything was presented, or without a tap",
            .notPresented: "the overlay was never shown",
            .unsupportedSdk: "of a version that tracks no clicks",
            .untracked: "the bid turned tracking off",
            .test: "events that count in nothing else",
        ])
}
