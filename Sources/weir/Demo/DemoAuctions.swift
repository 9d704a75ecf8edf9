import EventLog

/// A day of auctions and what followed, made by rule: the same in every run.
enum DemoAuctions {
    /// 2026-11-20T00:00:00Z.
    private static let startMilliseconds: Int64 = 1_795_132_800_000
    private static let seats = ["acme-dsp", "bidder-7", "northwind"]
    private static let campaigns = ["5239", "5240"]

    /// 240 auctions in a day, the notices of their winners, in-app offers, repeats and broken records.
    static func records() -> [OutgoingRecord] {
        var records: [OutgoingRecord] = []
        for number in 0..<240 {
            let time = startMilliseconds + Int64(number) * 360_000
            let id = "auction-\(1000 + number)"
            let seat = seats[number % 3]
            let value = auction(id, number: number, seat: seat)
            records.append(record(id, "openrtb.auction", value, at: time))
            if number % 40 == 7 {
                // A producer that sends again after a lost acknowledgement.
                records.append(record(id, "openrtb.auction", value, at: time + 900))
            }
            guard number % 5 != 0 else { continue }
            records.append(notice(id, number: number, seat: seat, at: time + 200))
            if number % 4 == 1 {
                records.append(
                    record(
                        id, "openrtb.billing",
                        """
                        {"auction_id":"\(id)","bid_id":"b1","seat":"\(seat)","price":\(price(number)),\
                        "skan_version":"4.0","campaign":\(campaign(number))}
                        """, at: time + 1200))
            }
        }
        return records + offers() + broken()
    }

    private static func record(
        _ key: String, _ type: String, _ value: String?, at milliseconds: Int64
    ) -> OutgoingRecord {
        OutgoingRecord(
            topic: "bids", timestampMilliseconds: milliseconds, key: Array(key.utf8),
            headers: [.init("ce_specversion", "1.0"), .init("ce_type", type)],
            value: value.map { Array($0.utf8) })
    }

    private static func price(_ number: Int) -> String {
        "\(1 + number % 7).\(10 + number % 83)"
    }

    private static func campaign(_ number: Int) -> String {
        """
        {"ad_network_id":"su67r6k2v3.skadnetwork","source_identifier":"\(campaigns[number % 2])",\
        "app_id":525463029,"source_app_id":880047117}
        """
    }

    /// Every fifth auction has no bid; every ninth bid names a network that the app does not list.
    private static func auction(_ id: String, number: Int, seat: String) -> String {
        let network = number % 9 == 4 ? "unlisted.skadnetwork" : "su67r6k2v3.skadnetwork"
        let bid = """
            {"id":"b1","impid":"1","price":\(price(number)),"bundle":"525463029","ext":{"skadn":{\
            "version":"4.0","network":"\(network)","sourceidentifier":"\(campaigns[number % 2])",\
            "itunesitem":"525463029","sourceapp":"880047117","fidelities":[{"fidelity":0,"nonce":\
            "473b1a16-b4ef-43ad-9591-fcf3aefa82a7","timestamp":"1795132800000","signature":"MEQC"}],\
            "skoverlay":{"present":1,"delay":3}}}}
            """
        let response =
            number % 5 == 0
            ? ""
            : ",\"response\":{\"cur\":\"USD\",\"seatbid\":[{\"seat\":\"\(seat)\",\"bid\":[\(bid)]}]}"
        return """
            {"request":{"id":"\(id)","imp":[{"id":"1","instl":1,"displaymanager":"HyBid",\
            "displaymanagerver":"\(number % 2 == 0 ? "3.1.2" : "2.9.0")","ext":{"skadn":{"versions":\
            ["3.0","4.0"],"sourceapp":"880047117","skadnetids":["su67r6k2v3.skadnetwork"],\
            "skoverlay":["present","click","delay"]}}}],"app":{"bundle":"880047117"},"device":{"os":\
            "iOS","osv":"17.5"}}\(response)}
            """
    }

    private static func notice(
        _ id: String, number: Int, seat: String, at milliseconds: Int64
    ) -> OutgoingRecord {
        let isWin = number % 4 == 1
        let reason = isWin ? "" : "\"loss_reason\":\(number % 9 == 4 ? 214 : 102),"
        return record(
            id, isWin ? "openrtb.win" : "openrtb.loss",
            """
            {"auction_id":"\(id)","bid_id":"b1","seat":"\(seat)",\(reason)"skan_version":"4.0",\
            "campaign":\(campaign(number))}
            """, at: milliseconds)
    }

    private static func offers() -> [OutgoingRecord] {
        (0..<12).flatMap { number in
            let id = "inapp-\(number)"
            let time = startMilliseconds + Int64(number) * 7_200_000
            let offer = record(
                id, "inapp.bid",
                """
                {"auction_id":"\(id)","adapter":"Amazon","competition_type":"price","price":2.5,\
                "currency":"USD","rendering_type":"mediation"}
                """, at: time)
            let win = record(
                id, "inapp.bidder_won",
                "{\"auction_id\":\"\(id)\",\"adapter\":\"Amazon\",\"currency\":\"USD\"}",
                at: time + 80)
            return number % 3 == 0 ? [offer, win] : [offer]
        }
    }

    private static func broken() -> [OutgoingRecord] {
        let time = startMilliseconds + 50_000_000
        return [
            record("broken-1", "openrtb.auction", "{\"request\":{\"id\":\"a\"},", at: time),
            record("broken-2", "openrtb.auction", "{\"request\":{\"imp\":[]}}", at: time),
            record(
                "broken-3", "openrtb.loss", "{\"auction_id\":\"a\",\"bid_id\":\"b\"}", at: time),
            record("broken-4", "openrtb.bid", "{}", at: time),
            record("broken-5", "openrtb.auction", nil, at: time),
        ]
    }
}
