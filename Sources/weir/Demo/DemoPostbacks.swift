import EventLog

/// Postbacks that Apple signed: from its documentation, from devices, and from public test suites.
enum DemoPostbacks {
    /// A postback with the type of its record.
    struct Sample {
        var type: String
        var json: String
    }

    static let signedByApple: [Sample] = [
        // SKAdNetwork 1.0, captured from a device
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"ad-network-id":"su67r6k2v3.skadnetwork","app-id":1176027022,"attribution-sig\#
                nature":"MDMCGELMEaJCS0y1JXqjZujcMXdJel8boLV6PAIXFNKYjzROJY2CxAmU+HoPQfTJCyjoS\#
                6k=","campaign-id":51,"redownload":false,"transaction-id":"583e867c-0bc5-4980-\#
                8766-6d8cf992f24a","version":"1.0"}
                """#),
        // SKAdNetwork 2.0, captured from a device
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"ad-network-id":"v9wttpbfk9.skadnetwork","app-id":1176027022,"attribution-sig\#
                nature":"MDQCGDYZvzXjCRDEcFjJu2xd4kaOPwK+sJpUbgIYZRiWFh0Lpz7KFnF3qrXdyl9sAG8j6\#
                gne","campaign-id":75,"conversion-value":18,"redownload":true,"transaction-id"\#
                :"c4a69044-1c85-4755-9e25-97d8daa30c55","version":"2.0"}
                """#),
        // SKAdNetwork 2.1, captured from a device
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"2.1","ad-network-id":"mj797d8u6f.skadnetwork","campaign-id":3,"tra\#
                nsaction-id":"00877faf-84ac-459c-b1a2-5301bf4452d8","app-id":1434505322,"attri\#
                bution-signature":"MEUCIHDlkRyY8uA78H5vKLw1chf192FSBnbDnQMxUXJdmtPrAiEAuqCVM63\#
                RZxpkexKKrFCgfkM5aLZ4mMZkRrkL0ivovNc=","redownload":false,"adjust-campaign":"a\#
                _campaign","adjust-campaign-id":"112233445566","adjust-adgroup":"a_group_uid",\#
                "adjust-adgroup-id":"112233445566","timestamp":1622794663}
                """#),
        // SKAdNetwork 2.0, of Apple's documentation
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"2.0","ad-network-id":"com.example","campaign-id":42,"transaction-i\#
                d":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e28","app-id":525463029,"attribution-sign\#
                ature":"MDYCGQD0AdGn5gUnSuVGk8Wi0IgxzWiKdBzwJrQCGQCJfkrI5bda93EC4Xm1H+MtNxstFm\#
                nVBn0=","redownload":true,"source-app-id":1234567891,"conversion-value":20}
                """#),
        // SKAdNetwork 2.1, of Apple's documentation
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"2.1","ad-network-id":"com.example","campaign-id":42,"transaction-i\#
                d":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e28","app-id":525463029,"attribution-sign\#
                ature":"MEUCID6rbq3qt4GvFaAaynh5/LAcvn1d8CQTRhrZhLIxLKntAiEAo7IrvoMw6u2qDg6Tr5\#
                vIsEHXjlLkPlCOL0ojJcEh3Qw=","redownload":true,"source-app-id":1234567891,"conv\#
                ersion-value":20}
                """#),
        // SKAdNetwork 2.2, of Apple's documentation
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"2.2","ad-network-id":"com.example","campaign-id":42,"transaction-i\#
                d":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e28","app-id":525463029,"attribution-sign\#
                ature":"MEYCIQDTuQ1Z4Tpy9D3aEKbxLl5J5iKiTumcqZikuY/AOD2U7QIhAJAaiAv89AoquHXJff\#
                cieEQXdWHpcV8ZgbKN0EwV9/sY","redownload":true,"source-app-id":1234567891,"fide\#
                lity-type":1,"conversion-value":20}
                """#),
        // SKAdNetwork 3.0, of Apple's documentation
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":42,"tr\#
                ansaction-id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e28","app-id":525463029,"attri\#
                bution-signature":"MEYCIQD5eq3AUlamORiGovqFiHWI4RZT/PrM3VEiXUrsC+M51wIhAPMANZA\#
                9c07raZJ64gVaXhB9+9yZj/X6DcNxONdccQij","redownload":true,"source-app-id":12345\#
                67891,"fidelity-type":1,"conversion-value":20,"did-win":true}
                """#),
        // SKAdNetwork 4.0, of Apple's documentation
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"4.0","ad-network-id":"com.example","source-identifier":"5239","app\#
                -id":525463029,"transaction-id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e30","redown\#
                load":false,"source-domain":"example.com","fidelity-type":1,"did-win":true,"co\#
                nversion-value":63,"postback-sequence-index":0,"attribution-signature":"MEUCIG\#
                RmSMrqedNu6uaHyhVcifs118R5z/AB6cvRaKrRRHWRAiEAv96ne3dKQ5kJpbsfk4eYiePmrZUU6sQm\#
                o+7zfP/1Bxo="}
                """#),
        // SKAdNetwork 3.0, of a public test suite
        Sample(
            type: "skadnetwork.postback",
            json: #"""
                {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":"42","\#
                transaction-id":"f9ac267a-a889-44ce-b5f7-0166d11461f0","app-id":525463029,"att\#
                ribution-signature":"MEUCIQDDetUtkyc/MiQvVJ5I6HIO1E7l598572Wljot2Onzd4wIgVJLzV\#
                cyAV+TXksGNoa0DTMXEPgNPeHCmD4fw1ABXX0g=","redownload":true,"fidelity-type":1,"\#
                did-win":false}
                """#),
        // AdAttributionKit, of Apple's documentation
        Sample(
            type: "adattributionkit.postback",
            json: #"""
                {"jws-string":"eyJraWQiOiJhcHBsZS1kZXZlbG9wbWVudC1pZGVudGlmaWVyXC8xIiwiYWxnIjo\#
                iRVMyNTYifQ.eyJwb3N0YmFjay1pZGVudGlmaWVyIjoiODU1NDZFQjctRkQzOS00NEJDLTg5OTAtQz\#
                k4QTRBQzM2QTQ5IiwicHVibGlzaGVyLWl0ZW0taWRlbnRpZmllciI6MCwibWFya2V0cGxhY2UtaWRl\#
                bnRpZmllciI6ImNvbS5hcHBsZS5BcHBTdG9yZSIsImltcHJlc3Npb24tdHlwZSI6ImFwcC1pbXByZX\#
                NzaW9uIiwiYWQtbmV0d29yay1pZGVudGlmaWVyIjoiZGV2ZWxvcG1lbnQuYWRhdHRyaWJ1dGlvbmtp\#
                dCIsImRpZC13aW4iOnRydWUsInBvc3RiYWNrLXNlcXVlbmNlLWluZGV4IjowLCJjb252ZXJzaW9uLX\#
                R5cGUiOiJyZS1lbmdhZ2VtZW50Iiwic291cmNlLWlkZW50aWZpZXIiOiIxMjM0IiwiYWR2ZXJ0aXNl\#
                ZC1pdGVtLWlkZW50aWZpZXIiOjEwNzM4MDI3NzU2fQ.bAdNwKd6OfHK9tofvjjua4X_JPcFTxXPQSs\#
                pD9gZkinw97pY7R1aI-LSjl-oxZZF3_K2H5JK5TSEBee4_1U4oQ","conversion-value":24,"ad\#
                -interaction-type":"click","country-code":"US"}
                """#),
    ]
}

extension DemoPostbacks {
    /// The signed postbacks, then what a receiver on the open internet gets as well: a repeat from
    /// the developer's copy, another conversion value on a signed postback, a forged one, and
    /// nonsense.
    static func records() -> [OutgoingRecord] {
        let fine = signedByApple[7].json
        let extra: [(String, String?)] = [
            ("developer-copy", fine),
            ("device", fine.replacing("\"conversion-value\":63", with: "\"conversion-value\":1")),
            ("device", forged(signedByApple[5].json)),
            ("device", fine.replacing("\"5239\"", with: "\"52391\"")),
            ("device", "not a postback"),
            ("device", nil),
        ]
        let signed = signedByApple.map { (type: $0.type, via: "device", json: Optional($0.json)) }
        let others = extra.map { (type: "skadnetwork.postback", via: $0.0, json: $0.1) }
        return (signed + others).enumerated().map { number, sample in
            DemoRecords.record(
                "postbacks", key: key(of: sample.json), type: sample.type, sample.json,
                at: DemoRecords.dayMilliseconds + 21_600_000 + Int64(number) * 600_000,
                headers: [.init("ce_via", sample.via)])
        }
    }

    /// A signed postback under another transaction id: the signature no longer holds.
    private static func forged(_ json: String) -> String {
        json.replacing(
            "6aafb7a5-0170-41b5-bbe4-fe71dedf1e28", with: "00000000-0170-41b5-bbe4-000000000000")
    }

    /// The transaction id in lower case, which keeps copies of a postback in one partition.
    private static func key(of json: String?) -> String {
        let match = json?.firstMatch(of: /"transaction-id":"([^"]*)"/)
        return match.map { $0.1.lowercased() } ?? "unknown"
    }
}
