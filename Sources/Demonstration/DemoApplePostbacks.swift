/// Postbacks that Apple signed: examples of its documentation and copies that public test suites contain. They verify with
/// Apple's own keys, and belong to none of the demo's campaigns.
enum DemoApplePostbacks {
    static let all: [(type: String, id: String, value: String)] = [
        (
            "skadnetwork.postback", "583e867c-0bc5-4980-8766-6d8cf992f24a",
            #"""
            {"ad-network-id":"su67r6k2v3.skadnetwork","app-id":1176027022,"attribution-signature":"MDMCGELMEaJCS0y1JXqjZuj\#
            cMXdJel8boLV6PAIXFNKYjzROJY2CxAmU+HoPQfTJCyjoS6k=","campaign-id":51,"redownload":false,"transaction-id":"583e8\#
            67c-0bc5-4980-8766-6d8cf992f24a","version":"1.0"}
            """#
        ),
        (
            "skadnetwork.postback", "c4a69044-1c85-4755-9e25-97d8daa30c55",
            #"""
            {"ad-network-id":"v9wttpbfk9.skadnetwork","app-id":1176027022,"attribution-signature":"MDQCGDYZvzXjCRDEcFjJu2x\#
            d4kaOPwK+sJpUbgIYZRiWFh0Lpz7KFnF3qrXdyl9sAG8j6gne","campaign-id":75,"conversion-value":18,"redownload":true,"t\#
            ransaction-id":"c4a69044-1c85-4755-9e25-97d8daa30c55","version":"2.0"}
            """#
        ),
        (
            "skadnetwork.postback", "00877faf-84ac-459c-b1a2-5301bf4452d8",
            #"""
            {"version":"2.1","ad-network-id":"mj797d8u6f.skadnetwork","campaign-id":3,"transaction-id":"00877faf-84ac-459c\#
            -b1a2-5301bf4452d8","app-id":1434505322,"attribution-signature":"MEUCIHDlkRyY8uA78H5vKLw1chf192FSBnbDnQMxUXJdm\#
            tPrAiEAuqCVM63RZxpkexKKrFCgfkM5aLZ4mMZkRrkL0ivovNc=","redownload":false,"adjust-campaign":"a_campaign","adjust\#
            -campaign-id":"112233445566","adjust-adgroup":"a_group_uid","adjust-adgroup-id":"112233445566","timestamp":162\#
            2794663}
            """#
        ),
        (
            "skadnetwork.postback", "6aafb7a5-0170-41b5-bbe4-fe71dedf1e28",
            #"""
            {"version":"2.0","ad-network-id":"com.example","campaign-id":42,"transaction-id":"6aafb7a5-0170-41b5-bbe4-fe71\#
            dedf1e28","app-id":525463029,"attribution-signature":"MDYCGQD0AdGn5gUnSuVGk8Wi0IgxzWiKdBzwJrQCGQCJfkrI5bda93EC\#
            4Xm1H+MtNxstFmnVBn0=","redownload":true,"source-app-id":1234567891,"conversion-value":20}
            """#
        ),
        (
            "skadnetwork.postback", "6aafb7a5-0170-41b5-bbe4-fe71dedf1e28",
            #"""
            {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":42,"transaction-id":"6aafb7a5-0170-41b\#
            5-bbe4-fe71dedf1e28","app-id":525463029,"attribution-signature":"MEYCIQD5eq3AUlamORiGovqFiHWI4RZT/PrM3VEiXUrsC\#
            +M51wIhAPMANZA9c07raZJ64gVaXhB9+9yZj/X6DcNxONdccQij","redownload":true,"source-app-id":1234567891,"fidelity-ty\#
            pe":1,"conversion-value":20,"did-win":true}
            """#
        ),
        (
            "skadnetwork.postback", "6aafb7a5-0170-41b5-bbe4-fe71dedf1e30",
            #"""
            {"version":"4.0","ad-network-id":"com.example","source-identifier":"5239","app-id":525463029,"transaction-id":\#
            "6aafb7a5-0170-41b5-bbe4-fe71dedf1e30","redownload":false,"source-domain":"example.com","fidelity-type":1,"did\#
            -win":true,"conversion-value":63,"postback-sequence-index":0,"attribution-signature":"MEUCIGRmSMrqedNu6uaHyhVc\#
            ifs118R5z/AB6cvRaKrRRHWRAiEAv96ne3dKQ5kJpbsfk4eYiePmrZUU6sQmo+7zfP/1Bxo="}
            """#
        ),
        (
            "skadnetwork.postback", "f9ac267a-a889-44ce-b5f7-0166d11461f0",
            #"""
            {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":"42","transaction-id":"f9ac267a-a889-4\#
            4ce-b5f7-0166d11461f0","app-id":525463029,"attribution-signature":"MEUCIQDDetUtkyc/MiQvVJ5I6HIO1E7l598572Wljot\#
            2Onzd4wIgVJLzVcyAV+TXksGNoa0DTMXEPgNPeHCmD4fw1ABXX0g=","redownload":true,"fidelity-type":1,"did-win":false}
            """#
        ),
        (
            "adattributionkit.postback", "unknown",
            #"""
            {"jws-string":"eyJraWQiOiJhcHBsZS1kZXZlbG9wbWVudC1pZGVudGlmaWVyXC8xIiwiYWxnIjoiRVMyNTYifQ.eyJwb3N0YmFjay1pZGVu\#
            dGlmaWVyIjoiODU1NDZFQjctRkQzOS00NEJDLTg5OTAtQzk4QTRBQzM2QTQ5IiwicHVibGlzaGVyLWl0ZW0taWRlbnRpZmllciI6MCwibWFya2\#
            V0cGxhY2UtaWRlbnRpZmllciI6ImNvbS5hcHBsZS5BcHBTdG9yZSIsImltcHJlc3Npb24tdHlwZSI6ImFwcC1pbXByZXNzaW9uIiwiYWQtbmV0\#
            d29yay1pZGVudGlmaWVyIjoiZGV2ZWxvcG1lbnQuYWRhdHRyaWJ1dGlvbmtpdCIsImRpZC13aW4iOnRydWUsInBvc3RiYWNrLXNlcXVlbmNlLW\#
            luZGV4IjowLCJjb252ZXJzaW9uLXR5cGUiOiJyZS1lbmdhZ2VtZW50Iiwic291cmNlLWlkZW50aWZpZXIiOiIxMjM0IiwiYWR2ZXJ0aXNlZC1p\#
            dGVtLWlkZW50aWZpZXIiOjEwNzM4MDI3NzU2fQ.bAdNwKd6OfHK9tofvjjua4X_JPcFTxXPQSspD9gZkinw97pY7R1aI-LSjl-oxZZF3_K2H5J\#
            K5TSEBee4_1U4oQ","conversion-value":24,"ad-interaction-type":"click","country-code":"US"}
            """#
        ),
    ]
}
