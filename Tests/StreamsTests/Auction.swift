/// An auction whose one bid keeps every rule: SKAdNetwork 4.0, with an overlay whose clicks count.
enum Auction {
    static let valid: Document = [
        "request": [
            "id": "a",
            "imp": [
                [
                    "id": "1", "instl": 1, "displaymanager": "HyBid", "displaymanagerver": "3.1.0",
                    "ext": [
                        "skadn": [
                            "versions": ["2.0", "2.1", "2.2", "3.0", "4.0"], "sourceapp": "11",
                            "skadnetids": ["net.skadnetwork"], "skoverlay": ["present", "click"],
                        ]
                    ],
                ]
            ],
            "app": ["bundle": "11"],
            "device": ["os": "iOS", "osv": "17.5.1"],
        ],
        "response": [
            "cur": "EUR",
            "seatbid": [
                [
                    "seat": "acme",
                    "bid": [
                        [
                            "id": "b", "impid": "1", "price": 4.35,
                            "ext": [
                                "skadn": [
                                    "version": "4.0", "network": "Net.SKAdNetwork",
                                    "sourceidentifier": "0239", "campaign": "45",
                                    "itunesitem": "22", "sourceapp": "11",
                                    "fidelities": [
                                        [
                                            "fidelity": 1, "nonce": "n", "timestamp": "1",
                                            "signature": "s",
                                        ]
                                    ],
                                    "nonce": "n", "timestamp": 1, "signature": "s",
                                    "skoverlay": ["present": 1, "click": 1],
                                ]
                            ],
                        ]
                    ],
                ]
            ],
        ],
    ]

    static let imp = "request.imp.0"
    static let bid = "response.seatbid.0.bid.0"
    static let offer = "request.imp.0.ext.skadn"
    static let skadn = "response.seatbid.0.bid.0.ext.skadn"

    static func without(_ path: String) -> Document { valid.with([path: nil]) }

    static func with(_ changes: KeyValuePairs<String, Document?>) -> Document {
        valid.with(changes)
    }
}
