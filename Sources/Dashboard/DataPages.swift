import Program
import Reports
import Streams
import Wording

extension PageWriter {
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
