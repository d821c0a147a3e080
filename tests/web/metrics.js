/** Gives the page the server's own table of metrics, as tests/project/test_page_logic.py has it. */

import { learn } from "../../web/shared/metrics.js";

learn(JSON.parse(process.env.GPH_METRICS));
