/// OpenRTB's loss reason codes (List: Loss Reason Codes, 5.25 of OpenRTB 2.6), by name for people.
package enum LossReason {
    /// From here on codes are each exchange's own.
    private static let firstOfExchange: Int64 = 1000

    /// The name of a code; empty for one that the list does not have.
    package static func name(_ code: Int64) -> String {
        names[code] ?? (code >= firstOfExchange ? "exchange's own" : "")
    }

    private static let names: [Int64: String] = [
        0: "bid won", 1: "internal error", 2: "impression opportunity expired",
        3: "invalid bid response", 4: "invalid deal id", 5: "invalid auction id",
        6: "invalid advertiser domain", 7: "missing markup", 8: "missing creative id",
        9: "missing bid price", 10: "missing minimum creative approval data",
        100: "below auction floor", 101: "below deal floor", 102: "lost to higher bid",
        103: "lost to a bid for a deal", 104: "buyer seat blocked",
        200: "creative filtered, reason unknown",
        201: "creative filtered: pending processing by exchange",
        202: "creative filtered: disapproved by exchange",
        203: "creative filtered: size not allowed",
        204: "creative filtered: incorrect creative format",
        205: "creative filtered: advertiser exclusions",
        206: "creative filtered: app bundle exclusions", 207: "creative filtered: not secure",
        208: "creative filtered: language exclusions",
        209: "creative filtered: category exclusions",
        210: "creative filtered: creative attribute exclusions",
        211: "creative filtered: ad type exclusions",
        212: "creative filtered: animation too long",
        213: "creative filtered: not allowed in deal",
        214: "creative filtered: invalid SKAdNetwork",
    ]
}
