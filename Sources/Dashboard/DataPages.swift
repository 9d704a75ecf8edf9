import Program
import Reports
import Streams
import Wording

extension PageWriter {
    // MARK: Publisher

    mutating func writePublisher() throws {
        try section("From overlay to click") { page in
            try page.cards(
                ReportAddress("bids"),
                [
                    Card("Overlays signalled", "overlay_signalled"),
                    Card("Requested", "overlay_requested"), Card("Eligible", "overlay_eligible"),
                ])
            try page.cards(
                ReportAddress("impressions"),
                [
                    Card("Presented", "presented", .good), Card("Viewed", "viewed", .good),
                    Card("Failed", "failed", .bad),
                ])
            try page.cards(
                ReportAddress("overlay-clicks"),
                [
                    Card("Clicks on overlays and in-app ads", "user_clicks", .good),
                    Card("On paid recommendations", "paid_clicks", .good),
                    Card("On other recommendations", "organic_clicks", .good),
                    Card("Automatic, not counted above", "automatic_clicks", .bad),
                    Card("Paid, with an altered URL", "altered_urls", .bad),
                ])
        }
        try section(
            "Click rate by placement and format",
            "ctr is clicks / (presented + viewed). A click counts if a person clicked, the overlay was presented, and the SDK and the bid report clicks. clicks is the sum of user_clicks (overlays, in-app ads), paid_clicks and organic_clicks (recommendations)."
        ) {
            try $0.table(
                ReportAddress(ClickRates.name, by: ["format", "placement"]), sort: "presented")
        }
        try section("Ads by placement and format") {
            try $0.table(
                ReportAddress("impressions", by: ["format", "placement"]), sort: "presented")
        }
        try section(
            "Clicks by placement and format",
            "Clicks that no person made, or that must not count, have their own columns: automatic_clicks, early, not_presented, unsupported_sdk, untracked."
        ) {
            try $0.table(
                ReportAddress("overlay-clicks", by: ["format", "placement"]), sort: "clicks")
        }
        try section("Loss reasons", "As reported in loss notices of bidders.") {
            try $0.table(ReportAddress("loss-reasons", by: ["seat", "reason"]), sort: "losses")
        }
        try section(
            "Ad signatures by verdict",
            "By seat of the bidder. Click a number to list its records. A record shows the signed fields and the check that failed."
        ) {
            try $0.table(ReportAddress("bid-signatures", by: ["seat", "ad_network_id", "verdict"]))
        }
        try section("Invalid SKAdNetwork objects in bids") {
            try $0.table(ReportAddress("bid-faults", by: ["ad_network_id", "fault"]), sort: "bids")
        }
        try section("Recommendations", "Received, paid, and viewed within 30 minutes.") {
            var request = ReportAddress("impressions", by: ["placement"])
            request.conditions = [ReportRequest.Condition(column: "format", value: "outbrain")]
            try $0.table(request, sort: "received")
        }
        try section(
            "Fraud signals", "Shares with counts and 95 % intervals. They are not a verdict."
        ) { try $0.table(ReportAddress(FraudSignals.name, by: ["ad_network_id"])) }
    }

    // MARK: Postbacks

    mutating func writePostbacks() throws {
        try section("By verdict, network and version") {
            try $0.table(
                ReportAddress(
                    "postbacks", by: ["framework", "version", "ad_network_id", "verdict"]),
                sort: "postbacks")
        }
        try section("By day") { page in
            try page.chart(
                "Postbacks by day, with and without a value", ReportAddress("postbacks"),
                [
                    ("postbacks", "postbacks", "postbacks"),
                    ("null values", "null_values", "null_values"),
                ])
            try page.table(ReportAddress("postbacks", by: ["day", "verdict"]))
        }
        try section("By country and marketplace", "AdAttributionKit only.") {
            try $0.table(
                ReportAddress("postbacks", by: ["marketplace", "country"]), sort: "postbacks")
        }
        guard context.scope.isEmpty else { return }
        try section("Network copies compared with developer copies") { page in
            var question = ReconciliationQuery()
            question.request.grouping = .columns(["ad_network_id"])
            question.trustsDevelopment = try page.source.installation.configuration
                .trustsDevelopment()
            let found = try page.source.stores.reconciliation(question)
            page.writeNotices(found.notices)
            page.write { ReportView.write(found.table, to: &$0) }
            let words = ["weir", "reconcile", "--by", "ad_network_id"] + page.source.clockWords
            page.write { $0.element("pre", text: ShellWords.text(words)) }
        }
    }

    // MARK: Records

    /// Records that do not count, with the reason.
    mutating func writeRecords() throws {
        try section(
            "Rejected records",
            "Click a record to see its bytes. After a fix, requeue the records of a reason."
        ) { page in
            try page.writeRefusals("rejected")
            try page.writeRequeueButtons("rejected")
        }
        try section(
            "Conflicting copies", "Among copies of equal rank, the first counts."
        ) { try $0.writeRefusals("conflicts") }
        try section("Untrusted copies", "Their signature is not valid.") {
            try $0.writeRefusals("untrusted")
            try $0.writeRequeueButtons("untrusted")
        }
        try section("Outcomes", "Results for the records of these days.") {
            try $0.table(ReportAddress("outcomes", by: ["topic", "type"]))
        }
    }
}
