/// Distinct auctions of about 1.5 KB in time order, similar to an exchange's: most with one bid, some with zero or two,
/// of six seats on forty campaigns in twelve apps.
struct SampleAuctions: SampleRecords {
    var choices = SampleChoices()
    /// The publishers' apps.
    var publishers: Range<UInt64> = 0..<12

    mutating func next() -> (type: String?, value: String) { (nil, auction()) }

    private mutating func auction() -> String {
        let id = choices.nextID()
        let publisher =
            880_047_100 + publishers.lowerBound
            + choices.random(below: publishers.upperBound - publishers.lowerBound)
        let bids = [1, 1, 1, 1, 1, 1, 1, 2, 2, 0][Int(choices.random(below: 10))]
        let bidTexts = (0..<bids).map { bid($0, publisher: publisher) }
        return """
            {"request":{"id":"\(id)","at":1,"tmax":250,"cur":["USD"],"imp":[{"id":"1","instl":1,\
            "secure":1,"bidfloor":0.35,"bidfloorcur":"USD","tagid":"zone-\(choices.random(below: 30))",\
            "displaymanager":"HyBid","displaymanagerver":"3.1.2","video":{"mimes":["video/mp4"],\
            "minduration":5,"maxduration":30,"protocols":[2,3,5,6],"w":320,"h":480,"linearity":1},\
            "ext":{"skadn":{"versions":["2.2","3.0","4.0"],"sourceapp":"\(publisher)",\
            "skadnetids":["su67r6k2v3.skadnetwork","mj797d8u6f.skadnetwork"],\
            "skoverlay":["present","click"]}}}],"app":{"id":"a1","name":"Sample Game",\
            "bundle":"\(publisher)","cat":["IAB9"],"publisher":{"id":"p7"}},"device":{"ua":"Mozilla/5.0 \
            (iPhone; CPU iPhone OS 17_5 like Mac OS X)","ip":"203.0.113.0","os":"iOS","osv":"17.5",\
            "make":"Apple","model":"iPhone15,2","language":"en","geo":{"country":"DEU","type":2}},\
            "regs":{"ext":{"gdpr":1}}},"response":{"id":"\(id)","cur":"USD","seatbid":[\
            {"seat":"seat-\(choices.random(below: 6))","bid":[\(bidTexts.joined(separator: ","))]}]}}
            """
    }

    private mutating func bid(_ index: Int, publisher: UInt64) -> String {
        let campaign = 5200 + choices.random(below: 40)
        let cents = choices.random(below: 900) + 1
        return """
            {"id":"b\(index)","impid":"1","price":\(cents / 100).\(cents % 100),"crid":"cr-\(campaign)",\
            "adomain":["example.com"],"bundle":"525463029","ext":{"skadn":{"version":"4.0",\
            "network":"su67r6k2v3.skadnetwork","sourceidentifier":"\(campaign)",\
            "itunesitem":"525463029","sourceapp":"\(publisher)","fidelities":[{"fidelity":0,\
            "nonce":"473b1a16-b4ef-43ad-9591-fcf3aefa82a7","timestamp":"1594406341",\
            "signature":"MEQCIEQlmZRNfYzKBSE8QnhLTIHZZZWCFgZpRqRxHss65KoFAiAJgJ"}],\
            "skoverlay":{"present":1,"click":1,"delay":3}}}}
            """
    }
}
