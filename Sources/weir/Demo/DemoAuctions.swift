import EventLog

/// A day of auctions and their notices, made by rule: the same in every run.
enum DemoAuctions {
    private static let seats = ["acme-dsp", "bidder-7", "northwind"]
    private static let campaigns = ["5239", "5240"]
    /// The network's signatures on the ads of the two campaigns, by the key that the catalog has.
    private static let signedAds = [
        """
        "nonce":"473b1a16-b4ef-43ad-9591-fcf3aefa82a7","timestamp":"1795132800000","signature":"MEQCIBNteuAN6kX+TKW9W/sd2VKHL4/1t3BNBe25R20gsMsqAiBsmbO3bDsRnzlJFdN5UFrYTFAwE6ZhOKXIsDIxxLhGNA=="
        """,
        """
        "nonce":"0b8d6a54-2a53-4f8e-9f0e-6f1c2f3f9a11","timestamp":"1795132800000","signature":"MEQCIAdtc+AKQqrtYJpGdaIgy5j58AFOxybE/Gc5jwe5VzDVAiBh7r5DqutQEXenf8/MicWKC9BFlkQy2YGpNMpiQKKmUA=="
        """,
    ]

    static var wins: [Int] { (0..<240).filter { $0 % 5 != 0 && [1, 6].contains($0 % 8) } }

    /// 240 auctions in a day, the notices of their winners, in-app offers, repeats and broken records.
    static func records() -> [OutgoingRecord] {
        var records: [OutgoingRecord] = []
        for number in 0..<240 {
            let time = milliseconds(of: number)
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
            if wins.contains(number) {
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

    /// When an auction was held, in milliseconds since 1970.
    static func milliseconds(of number: Int) -> Int64 {
        DemoRecords.dayMilliseconds + Int64(number) * 360_000
    }

    private static func record(
        _ key: String, _ type: String, _ value: String?, at milliseconds: Int64
    ) -> OutgoingRecord {
        DemoRecords.record("bids", key: key, type: type, value, at: milliseconds)
    }

    private static func price(_ number: Int) -> String {
        "\(1 + number % 7).\(10 + number % 83)"
    }

    /// The campaign of an auction's bid, as Weir's own events name it.
    static func campaign(_ number: Int) -> String {
        """
        {"ad_network_id":"com.example","source_identifier":"\(campaigns[number % 2])",\
        "app_id":525463029,"source_app_id":880047117}
        """
    }

    /// Every fifth auction has no bid; every ninth bid names a network that the app does not list, and every
    /// sixteenth carries the signature of another ad.
    private static func auction(_ id: String, number: Int, seat: String) -> String {
        let network = number % 9 == 4 ? "unlisted.skadnetwork" : "com.example"
        let signed = signedAds[(number % 16 == 3 ? number + 1 : number) % 2]
        let bid = """
            {"id":"b1","impid":"1","price":\(price(number)),"bundle":"525463029","ext":{"skadn":{\
            "version":"4.0","network":"\(network)","sourceidentifier":"\(campaigns[number % 2])",\
            "itunesitem":"525463029","sourceapp":"880047117","fidelities":[{"fidelity":1,\(signed)}],\
            "skoverlay":{"present":1,"delay":3}}}}
            """
        let response =
            number % 5 == 0
            ? ""
            : ",\"response\":{\"cur\":\"USD\",\"seatbid\":[{\"seat\":\"\(seat)\",\"bid\":[\(bid)]}]}"
        return """
            {"request":{"id":"\(id)","imp":[{"id":"1","instl":1,"displaymanager":"HyBid",\
            "displaymanagerver":"\(number % 2 == 0 ? "3.1.2" : "2.9.0")","ext":{"skadn":{"versions":\
            ["3.0","4.0"],"sourceapp":"880047117","skadnetids":["com.example"],\
            "skoverlay":["present","click","delay"]}}}],"app":{"bundle":"880047117"},"device":{"os":\
            "iOS","osv":"17.5"}}\(response)}
            """
    }

    private static func notice(
        _ id: String, number: Int, seat: String, at milliseconds: Int64
    ) -> OutgoingRecord {
        let isWin = wins.contains(number)
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
            let time = DemoRecords.dayMilliseconds + Int64(number) * 7_200_000
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
        let time = DemoRecords.dayMilliseconds + 50_000_000
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
